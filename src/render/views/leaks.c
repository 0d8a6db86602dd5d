// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "render/text/rows.h"
#include "render/text/suspects.h"
#include "render/text_words.h"
#include "render/views/all.h"
#include "util/escape.h"

static void append_line(struct text_page *page, const struct report_section *section,
			const struct report_row *row)
{
	const struct report *report = page->report;
	struct strbuf *text = &page->text;
	uint64_t size = row->sum.estimated_bytes;

	text_append_sum(page, section, size, row->sum.estimated_count);
	strbuf_appendf(text, " from stack  (%s, %s",
		       text_format_share(size, section->live.estimated_bytes).s,
		       units_format_bytes(size).s);
	/* In the first report everything has grown, which says nothing. */
	if (report->has_growth)
		strbuf_appendf(text, ", %s",
			       text_format_growth(row->estimated_growth_bytes).s);
	if (!report->options.combined_only) {
		strbuf_appendf(text, ", oldest %s",
			       units_format_duration(row->oldest_age_ns).s);
		/* With two blocks the median is the oldest one. */
		if (row->sum.count > 2)
			strbuf_appendf(text, ", median %s",
				       units_format_duration(row->median_age_ns).s);
	}
	if (report_row_lost_bytes(row))
		strbuf_appendf(text, ", %s lost for good",
			       units_format_bytes(report_row_lost_bytes(row)).s);
	/* Name the allocator only if there are several. */
	if (row->allocator && report->snapshot->allocators.len > 1) {
		strbuf_append(text, ", by ");
		escape_text(text, row->allocator->label);
	}
	strbuf_append_char(text, ')');
}

static void append_text(struct text_page *page, const struct report_section *section)
{
	static const struct text_rows rows = {
		.heading = "with outstanding allocations",
		.heading_mappings = "with outstanding mappings",
		.append_line = append_line,
		.is_of_held = true,
	};

	text_append_suspects(page, section);
	text_append_rows(page, section, &rows);
}

const struct view_ops view_leaks = {
	.name = "leaks",
	.sort = REPORT_SORT_SIZE,
	.append_text = append_text,
};
