// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "render/csv.h"
#include "render/class_words.h"
#include "render/text_page.h"
#include "render/views_all.h"
#include "report/histogram.h"

#define BAR_COLUMNS 20

static uint64_t most(const uint64_t *counts)
{
	uint64_t max = 0;

	for (size_t i = 0; i < HISTOGRAM_CLASSES; i++)
		max = counts[i] > max ? counts[i] : max;
	return max;
}

/* The bar between two columns of numbers keeps its room, whatever its bytes are. */
static void append_padded_bar(struct text_page *page, uint64_t n, uint64_t max)
{
	size_t before = page->text.len, columns = 0;

	text_append_bar(page, n, max, BAR_COLUMNS);
	for (size_t i = before; i < page->text.len; i++)
		columns += ((unsigned char)page->text.data[i] & 0xc0) != 0x80;
	strbuf_appendf(&page->text, "%*s", (int)(BAR_COLUMNS - columns), "");
}

static void append_text(struct text_page *page, const struct report_section *section)
{
	bool has_ever = section->class == BLOCK_HEAP &&
			(page->report->data & REPORT_DATA_TRAFFIC);
	uint64_t most_live = most(section->live_sizes);
	uint64_t most_ever = most(section->ever_sizes);
	struct strbuf *text = &page->text;

	text_append_heading(page, "Sizes of %s", class_words(section->class)->of_sizes);
	strbuf_appendf(text, "  %20s    %20s %12s", "from bytes", "to", "live");
	if (has_ever)
		strbuf_appendf(text, "  %-*s %12s", BAR_COLUMNS, "", "ever made");
	strbuf_append_char(text, '\n');
	for (size_t i = 0; i < HISTOGRAM_CLASSES; i++) {
		uint64_t live = section->live_sizes[i], ever = section->ever_sizes[i];

		if (!live && !ever)
			continue;
		strbuf_appendf(text, "  %20" PRIu64 " .. %20" PRIu64 " %12" PRIu64 "  ",
			       histogram_min_bytes(i), histogram_max_bytes(i), live);
		if (has_ever) {
			append_padded_bar(page, live, most_live);
			strbuf_appendf(text, " %12" PRIu64 "  ", ever);
			text_append_bar(page, ever, most_ever, BAR_COLUMNS);
		} else {
			text_append_bar(page, live, most_live, BAR_COLUMNS);
		}
		strbuf_append_char(text, '\n');
	}
	if (!most_live && !most_ever)
		strbuf_append(text, "  none yet\n");
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
					csv_class_name(section->class),
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
