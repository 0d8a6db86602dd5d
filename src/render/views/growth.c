// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "render/text/rows.h"
#include "render/suspect_words.h"
#include "render/text/suspects.h"
#include "render/text_words.h"
#include "render/views/all.h"

static void append_line(struct text_page *page, const struct report_section *section,
			const struct report_row *row)
{
	struct strbuf *text = &page->text;

	text_append_sum(page, section, row->sum.estimated_bytes,
			row->sum.estimated_count);
	strbuf_append(text, " from stack  (");
	if (page->report->has_growth)
		strbuf_appendf(
			text, "%s and %s%" PRId64 " %s since the last report; ",
			text_format_growth(row->estimated_growth_bytes).s,
			row->estimated_growth_count > 0 ? "+" : "",
			row->estimated_growth_count,
			text_blocks(section, (uint64_t)row->estimated_growth_count));
	strbuf_appendf(
		text, "%s over the run",
		text_format_growth((int64_t)(row->sum.estimated_bytes & INT64_MAX)).s);
	if (row->trend && row->trend->intervals) {
		strbuf_append(text, ": ");
		text_append_trend(text, row->trend, page->report->options.utf8);
	}
	strbuf_append_char(text, ')');
}

static void append_text(struct text_page *page, const struct report_section *section)
{
	static const struct text_rows rows = {
		.heading = "with outstanding allocations and their growth",
		.heading_mappings = "with outstanding mappings and their growth",
		.append_line = append_line,
		.is_of_held = true,
	};

	text_append_suspects(page, section);
	text_append_rows(page, section, &rows);
}

static void csv_row(const struct report *report, const struct report_row *row, FILE *out)
{
	const struct snapshot_trend none = {0};
	const struct snapshot_trend *trend = row->trend ? row->trend : &none;

	(void)report;
	fprintf(out,
		"%" PRIu64 ",%" PRIu64 ",%" PRId64 ",%" PRId64 ",%" PRIu32 ",%" PRIu32
		",%" PRIu32 ",%s,%s",
		row->sum.estimated_bytes, row->sum.estimated_count,
		row->estimated_growth_bytes, row->estimated_growth_count,
		trend->intervals, trend->grew, trend->shrank,
		text_format_decimal(trend->slope_bytes_per_s).s,
		text_format_decimal(trend->determination).s);
}

const struct view_ops view_growth = {
	.name = "growth",
	.wants = REPORT_DATA_TRENDS,
	.sort = REPORT_SORT_GROWTH,
	.append_text = append_text,
	.csv_columns = "bytes,blocks,growth_bytes,growth_blocks,intervals,grew,shrank,"
		       "slope_bytes_per_s,determination",
	.csv_row = csv_row,
};
