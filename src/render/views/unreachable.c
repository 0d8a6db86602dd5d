// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "render/columns.h"
#include "render/text/rows.h"
#include "render/views/all.h"

/* --- text ------------------------------------------------------------------------- */

static void append_line(struct text_page *page, const struct report_section *section,
			const struct report_row *row)
{
	const struct snapshot_unreachable *u = row->unreachable;
	const struct {
		const struct snapshot_sum *sum;
		const char *what;
	} parts[] = {
		{&u->lost, "lost"},
		{&u->held, "that only these lead to"},
		{&u->possible, "possibly lost"},
		{&u->unverified, "unverified"},
		{&u->lost_but_freed, "called lost by mistake, and freed"},
		{&u->held_but_freed, "of these because only lost blocks led to them"},
	};
	struct strbuf *text = &page->text;
	const char *before = " from stack  (";
	bool is_first = true, is_alone = true;

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		if (!parts[i].sum->count)
			continue;
		if (is_first) {
			text_append_sum(page, section, parts[i].sum->bytes,
					parts[i].sum->count);
			strbuf_appendf(text, " %s", parts[i].what);
		} else {
			strbuf_appendf(text, "%s%s in %" PRIu64 " %s", before,
				       units_format_bytes(parts[i].sum->bytes).s,
				       parts[i].sum->count, parts[i].what);
			before = ", ";
			is_alone = false;
		}
		is_first = false;
	}
	if (row->sum.count)
		strbuf_appendf(text, "%sof %s live)", before,
			       units_format_bytes(row->sum.estimated_bytes).s);
	else
		strbuf_append(text, is_alone ? " from stack" : ")");
}

static void append_text(struct text_page *page, const struct report_section *section)
{
	static const struct text_rows rows = {
		.heading = "with blocks that cannot be reached",
		.append_line = append_line,
		.lists = report_row_has_verdict,
	};

	text_append_rows(page, section, &rows);
}

/* --- CSV -------------------------------------------------------------------------- */

#define PRINT_SUM(name)                                                                  \
	fprintf(out, "%" PRIu64 ",%" PRIu64 ",", u->name.bytes, u->name.count);

static void csv_row(const struct report *report, const struct report_row *row, FILE *out)
{
	static const struct snapshot_unreachable none;
	const struct snapshot_unreachable *u =
		row->unreachable ? row->unreachable : &none;

	(void)report;
	UNREACHABLE_COLUMNS(PRINT_SUM);
	fprintf(out, "%" PRIu64 ",%" PRIu64, row->sum.estimated_bytes,
		row->sum.estimated_count);
}

const struct view_ops view_unreachable = {
	.name = "unreachable",
	.needs = REPORT_DATA_UNREACHABLE,
	.sort = REPORT_SORT_LOST,
	.append_text = append_text,
	.csv_columns = UNREACHABLE_HEADS "bytes,blocks",
	.csv_row = csv_row,
};
