// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "render/text/rows.h"
#include "render/text_words.h"
#include "render/views/all.h"
#include "util/saturate.h"

static void append_line(struct text_page *page, const struct report_section *section,
			const struct report_row *row)
{
	struct strbuf *text = &page->text;

	text_append_sum(page, section, row->peak_bytes, row->peak_count);
	strbuf_appendf(text, " at the peak of stack  (%s",
		       units_format_bytes(row->peak_bytes).s);
	if (row->traffic && row->peak_bytes)
		strbuf_appendf(
			text, ", %s ago",
			text_format_ago(page->report, row->traffic->peak_time_ns).s);
	strbuf_appendf(text, "; now %s in %" PRIu64 ", %s of the peak)",
		       units_format_bytes(row->sum.estimated_bytes).s,
		       row->sum.estimated_count,
		       text_format_share(row->sum.estimated_bytes, row->peak_bytes).s);
}

static void append_text(struct text_page *page, const struct report_section *section)
{
	static const struct text_rows rows = {
		.heading = "with the most that each held at once",
		.append_line = append_line,
	};

	text_append_rows(page, section, &rows);
}

static void csv_row(const struct report *report, const struct report_row *row, FILE *out)
{
	fprintf(out, "%" PRIu64 ",%" PRIu64 ",", row->peak_bytes, row->peak_count);
	/* The time is valid only if there was a peak. */
	if (row->traffic && row->peak_bytes)
		fprintf(out, "%" PRIu64,
			saturate_subtract(report->snapshot->time_ns,
					  row->traffic->peak_time_ns));
	fprintf(out, ",%" PRIu64 ",%" PRIu64, row->sum.estimated_bytes,
		row->sum.estimated_count);
}

const struct view_ops view_peak = {
	.name = "peak",
	.needs = REPORT_DATA_TRAFFIC,
	.sort = REPORT_SORT_PEAK,
	.past = true,
	.heap_only = true,
	.append_text = append_text,
	.csv_columns = "peak_bytes,peak_blocks,peak_age_ns,bytes,blocks",
	.csv_row = csv_row,
};
