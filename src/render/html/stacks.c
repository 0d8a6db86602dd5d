// SPDX-License-Identifier: Apache-2.0
#include "render/html/parts.h"

#include <inttypes.h>
#include <stdlib.h>

#include "render/class_words.h"
#include "render/html/path.h"
#include "render/text_words.h"
#include "util/cleanup.h"
#include "util/units.h"

/* Maximum number of rows of a table. The flame graph has all of them. */
#define MAX_ROWS 100

/* Lost blocks, and those that only these lead to. */
static void append_lost(struct strbuf *out, const struct report_row *row)
{
	html_append_bytes(out, "Lost", report_row_lost_bytes(row));
}

static void append_row(struct strbuf *out, const struct report *report,
		       const struct report_section *section, const struct causes *causes,
		       const struct report_row *row)
{
	uint64_t bytes = row->sum.estimated_bytes;

	strbuf_appendf(out, "<tr><th scope=\"row\">%zu</th>", row->held_rank + 1);
	html_append_bytes(out, "Bytes", bytes);
	html_append_number(out, "Share",
			   text_format_share(bytes, section->live.estimated_bytes).s);
	html_append_bar(out, bytes, section->live.estimated_bytes);
	html_append_count(out, "Blocks", row->sum.estimated_count);
	if (report->has_growth)
		html_append_growth(out, "Growth", row->estimated_growth_bytes);
	if (!report->options.combined_only)
		html_append_number(out, "Oldest",
				   units_format_duration(row->oldest_age_ns).s);
	if (report_section_has(report, section, REPORT_DATA_UNREACHABLE))
		append_lost(out, row);
	strbuf_append(out, "<td class=\"path\">");
	html_append_path(out, report, causes, row, true);
	strbuf_append(out, "</td></tr>\n");
}

static void append_head(struct strbuf *out, const struct report *report,
			const struct report_section *section)
{
	strbuf_append(out, "<thead><tr><th scope=\"col\">#</th>"
			   "<th class=\"n\" scope=\"col\">Bytes</th>"
			   "<th scope=\"col\" colspan=\"2\">Share</th>"
			   "<th class=\"n\" scope=\"col\">Blocks</th>");
	if (report->has_growth)
		strbuf_append(out, "<th class=\"n\" scope=\"col\">Growth</th>");
	if (!report->options.combined_only)
		strbuf_append(out, "<th class=\"n\" scope=\"col\">Oldest</th>");
	if (report_section_has(report, section, REPORT_DATA_UNREACHABLE))
		strbuf_append(out, "<th class=\"n\" scope=\"col\">Lost</th>");
	strbuf_append(out, "<th scope=\"col\">Call path, innermost first"
			   "</th></tr></thead>\n");
}

static int compare_ranks(const void *a, const void *b)
{
	const struct report_row *const *left = a, *const *right = b;

	size_t l = (*left)->held_rank, r = (*right)->held_rank;

	return l < r ? -1 : l > r;
}

static void append_section(struct strbuf *out, const struct report *report,
			   const struct report_section *section,
			   const struct causes *causes)
{
	size_t count = 0;
	_cleanup_(freep) const struct report_row **rows =
		calloc(MAX_ROWS, sizeof(const struct report_row *));

	if (!rows) {
		out->failed = true;
		return;
	}
	/* Rows are grouped by process, so the first ones may be anywhere. */
	for (size_t i = 0; i < section->row_count && count < MAX_ROWS; i++) {
		const struct report_row *row = &section->rows[i];

		if (row->sum.count && row->held_rank < MAX_ROWS)
			rows[count++] = row;
	}
	qsort(rows, count, sizeof(*rows), compare_ranks);
	if (report->section_count > 1)
		strbuf_appendf(out, "<h3>%s</h3>\n",
			       class_words(section->class)->heading);
	if (!count) {
		strbuf_append(out, "<p>None.</p>\n");
		return;
	}
	strbuf_append(out, "<table class=\"stacks cells\">\n");
	append_head(out, report, section);
	strbuf_append(out, "<tbody>\n");
	for (size_t i = 0; i < count; i++)
		append_row(out, report, section, causes, rows[i]);
	strbuf_append(out, "</tbody>\n</table>\n");
	if (count < section->held_count)
		strbuf_appendf(out,
			       "<p class=\"note\">These are the first %zu of %" PRIu64
			       " call paths.</p>\n",
			       count, section->held_count);
}

void html_append_stacks(struct strbuf *out, const struct report *report,
			const struct judgement *judgement)
{
	html_begin_folded(out, "stacks", "All call paths");
	if (report->sort != REPORT_SORT_SIZE)
		strbuf_appendf(out, "<p class=\"note\">In the order of --sort %s.</p>\n",
			       report_sort_name(report->sort));
	for (size_t i = 0; i < report->section_count; i++)
		append_section(out, report, &report->sections[i], &judgement->causes[i]);
	html_end_folded(out);
}
