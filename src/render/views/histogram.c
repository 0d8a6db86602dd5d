// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <string.h>

#include "render/class_words.h"
#include "render/views/csv_field.h"
#include "render/text/rows.h"
#include "render/views/all.h"
#include "report/histogram.h"

#define BAR_COLUMNS 20

/* Blocks by size in `classes` powers of two. The last class includes all larger
 * blocks. */
struct sizes {
	uint64_t live[HISTOGRAM_CLASSES], ever[HISTOGRAM_CLASSES];
	size_t classes;
	bool has_ever;
};

static uint64_t most(const uint64_t *counts)
{
	uint64_t max = 0;

	for (size_t i = 0; i < HISTOGRAM_CLASSES; i++)
		max = counts[i] > max ? counts[i] : max;
	return max;
}

/* Append a bar between two columns, padded to BAR_COLUMNS characters (not bytes). */
static void append_padded_bar(struct text_page *page, uint64_t n, uint64_t max)
{
	size_t before = page->text.len, columns = 0;

	text_append_bar(page, n, max, BAR_COLUMNS);
	for (size_t i = before; i < page->text.len; i++)
		columns += ((unsigned char)page->text.data[i] & 0xc0) != 0x80;
	strbuf_appendf(&page->text, "%*s", (int)(BAR_COLUMNS - columns), "");
}

/* Each line begins with the newline of the line before it. */
static void append_sizes(struct text_page *page, const struct sizes *sizes)
{
	uint64_t most_live = most(sizes->live), most_ever = most(sizes->ever);
	struct strbuf *text = &page->text;

	for (size_t i = 0; i < sizes->classes; i++) {
		uint64_t live = sizes->live[i], ever = sizes->ever[i];
		uint64_t to =
			i + 1 < sizes->classes ? histogram_max_bytes(i) : UINT64_MAX;

		if (!live && !ever)
			continue;
		strbuf_appendf(text, "\n  %20" PRIu64 " .. %20" PRIu64 " %12" PRIu64 "  ",
			       histogram_min_bytes(i), to, live);
		if (sizes->has_ever) {
			append_padded_bar(page, live, most_live);
			strbuf_appendf(text, " %12" PRIu64 "  ", ever);
			text_append_bar(page, ever, most_ever, BAR_COLUMNS);
		} else {
			text_append_bar(page, live, most_live, BAR_COLUMNS);
		}
	}
}

static void append_line(struct text_page *page, const struct report_section *section,
			const struct report_row *row)
{
	struct sizes sizes = {.classes = HISTOGRAM_CLASSES, .has_ever = row->ever_sizes};

	if (sizes.has_ever)
		sizes.classes = SNAPSHOT_PATH_SIZES;
	for (size_t i = 0; i < row->size_count; i++) {
		size_t class = row->sizes[i].bucket;

		if (class >= sizes.classes)
			class = sizes.classes - 1;
		sizes.live[class] += row->sizes[i].count;
	}
	for (size_t i = 0; sizes.has_ever && i < sizes.classes; i++)
		sizes.ever[i] = report_bucket_estimate(page->report, section, i,
						       row->ever_sizes->count[i]);
	text_append_sum(page, section, row->sum.estimated_bytes,
			row->sum.estimated_count);
	strbuf_append(&page->text, " from stack");
	append_sizes(page, &sizes);
}

static void append_text(struct text_page *page, const struct report_section *section)
{
	static const struct text_rows rows = {
		.heading = "and the sizes of their blocks",
		.heading_mappings = "and the sizes of their mappings",
		.append_line = append_line,
		.is_of_held = true,
	};
	struct sizes sizes = {.classes = HISTOGRAM_CLASSES,
			      .has_ever = report_section_has(page->report, section,
							     REPORT_DATA_TRAFFIC)};
	struct strbuf *text = &page->text;

	memcpy(sizes.live, section->live_sizes, sizeof(sizes.live));
	memcpy(sizes.ever, section->ever_sizes, sizeof(sizes.ever));
	text_append_heading(page, "Sizes of %s", class_words(section->class)->of_sizes);
	strbuf_appendf(text, "  %20s    %20s %12s", "from bytes", "to", "live");
	if (sizes.has_ever)
		strbuf_appendf(text, "  %-*s %12s", BAR_COLUMNS, "", "ever made");
	append_sizes(page, &sizes);
	strbuf_append_char(text, '\n');
	if (!most(sizes.live) && !most(sizes.ever))
		strbuf_append(text, "  none yet\n");
	text_append_rows(page, section, &rows);
}

static void csv_table(const struct report *report, FILE *out)
{
	for (size_t s = 0; s < report->section_count; s++) {
		const struct report_section *section = &report->sections[s];

		for (size_t i = 0; i < HISTOGRAM_CLASSES; i++) {
			uint64_t live = section->live_sizes[i];
			uint64_t ever = section->ever_sizes[i];

			if (live || ever)
				fprintf(out,
					"%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
					"\r\n",
					class_words(section->class)->csv,
					histogram_min_bytes(i), histogram_max_bytes(i),
					live, ever);
		}
	}
}

const struct view_ops view_histogram = {
	.name = "histogram",
	.wants = REPORT_DATA_TRAFFIC,
	.sort = REPORT_SORT_SIZE,
	.append_text = append_text,
	.csv_columns = "class,min_bytes,max_bytes,live_blocks,ever_blocks",
	.csv_table = csv_table,
};
