// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "render/columns.h"
#include "render/text/rows.h"
#include "render/text_words.h"
#include "render/views/all.h"

static void append_line(struct text_page *page, const struct report_section *section,
			const struct report_row *row)
{
	struct strbuf *text = &page->text;
	const struct report_flow *flow = &row->flow;

	text_append_sum(page, section, flow->allocated_bytes, flow->allocations);
	strbuf_appendf(text, " made by stack  (%s, %s/s, %s per second; ",
		       units_format_bytes(flow->allocated_bytes).s,
		       units_format_bytes(report_round(row->rates.allocated_bytes)).s,
		       units_format_rate(row->rates.allocations).s);
	strbuf_appendf(text, "freed %s in %" PRIu64 ", %s/s, %s per second; ",
		       units_format_bytes(flow->freed_bytes).s, flow->frees,
		       units_format_bytes(report_round(row->rates.freed_bytes)).s,
		       units_format_rate(row->rates.frees).s);
	strbuf_appendf(text, "%s temporary; %s in %" PRIu64 " live)",
		       text_format_share(flow->temporary, flow->allocations).s,
		       units_format_bytes(row->sum.estimated_bytes).s,
		       row->sum.estimated_count);
}

static void append_text(struct text_page *page, const struct report_section *section)
{
	static const struct text_rows rows = {
		.heading = "with allocations since the attach",
		.append_line = append_line,
	};

	text_append_rows(page, section, &rows);
}

#define PRINT_COUNT(name) fprintf(out, "%" PRIu64 ",", flow->name);

static void csv_row(const struct report *report, const struct report_row *row, FILE *out)
{
	const struct report_flow *flow = &row->flow;

	FLOW_COLUMNS(PRINT_COUNT);
	fprintf(out, "%" PRIu64 ",", flow->temporary);
	flow = &row->since;
	FLOW_COLUMNS(PRINT_COUNT);
	fprintf(out, "%" PRIu64, report->since_ns);
}

const struct view_ops view_traffic = {
	.name = "traffic",
	.needs = REPORT_DATA_TRAFFIC,
	.sort = REPORT_SORT_TRAFFIC,
	.past = true,
	.append_text = append_text,
	.csv_columns = FLOW_HEADS "temporary," FLOW_SINCE_HEADS "since_ns",
	.csv_row = csv_row,
};
