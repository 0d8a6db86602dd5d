// SPDX-License-Identifier: Apache-2.0
#include "render/html_parts.h"

#include <inttypes.h>
#include <stdlib.h>

#include "render/class_words.h"
#include "render/html_path.h"
#include "util/cleanup.h"
#include "util/units.h"

/* Maximum number of rows of a table. The flame graph has all of them. */
#define MAX_ROWS 100

static void append_row(struct strbuf *out, const struct report *report,
		       const struct report_section *section, const struct report_row *row)
{
	uint64_t bytes = row->sum.estimated_bytes;

	strbuf_appendf(out, "<tr><th scope=\"row\">%zu</th>", row->held_rank + 1);
	html_append_bytes(out, bytes);
	strbuf_append(out, "<td class=\"n\">");
	html_append_share(out, bytes, section->live.estimated_bytes);
	strbuf_append(out, "</td>");
	html_append_bar(out, bytes, section->live.estimated_bytes);
	html_append_count(out, row->sum.estimated_count);
	if (report->has_previous)
		html_append_growth(out, row->estimated_growth_bytes);
	if (!report->options.combined_only)
		strbuf_appendf(out, "<td class=\"n\">%s</td>",
			       units_format_duration(row->oldest_age_ns).s);
	strbuf_append(out, "<td class=\"path\">");
	html_append_path(out, report, row);
	strbuf_append(out, "</td></tr>\n");
}

static void append_head(struct strbuf *out, const struct report *report)
{
	strbuf_append(out, "<thead><tr><th scope=\"col\">#</th>"
			   "<th class=\"n\" scope=\"col\">Bytes</th>"
			   "<th scope=\"col\" colspan=\"2\">Share</th>"
			   "<th class=\"n\" scope=\"col\">Blocks</th>");
	if (report->has_previous)
		strbuf_append(out, "<th class=\"n\" scope=\"col\">Growth</th>");
	if (!report->options.combined_only)
		strbuf_append(out, "<th class=\"n\" scope=\"col\">Oldest</th>");
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
			   const struct report_section *section)
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
	strbuf_append(out, "<table class=\"stacks\">\n");
	append_head(out, report);
	strbuf_append(out, "<tbody>\n");
	for (size_t i = 0; i < count; i++)
		append_row(out, report, section, rows[i]);
	strbuf_append(out, "</tbody>\n</table>\n");
	if (count < section->held_count)
		strbuf_appendf(out,
			       "<p class=\"note\">These are the first %zu of %" PRIu64
			       " call paths.</p>\n",
			       count, section->held_count);
}

static void append_left_out(struct strbuf *out, const struct report_left_out *left_out,
			    const char *how)
{
	if (left_out->stack_count)
		strbuf_appendf(out,
			       "<p class=\"note\">%" PRIu64
			       " call %s with %s left out by "
			       "%s.</p>\n",
			       left_out->stack_count,
			       left_out->stack_count == 1 ? "path" : "paths",
			       units_format_bytes(left_out->sum.estimated_bytes).s, how);
}

void html_append_stacks(struct strbuf *out, const struct report *report)
{
	strbuf_append(out,
		      "<section id=\"stacks\">\n<h2>Call paths that hold memory</h2>\n");
	if (report->sort != REPORT_SORT_SIZE)
		strbuf_appendf(out, "<p class=\"note\">In the order of --sort %s.</p>\n",
			       report_sort_name(report->sort));
	for (size_t i = 0; i < report->section_count; i++) {
		const struct report_section *section = &report->sections[i];

		append_section(out, report, section);
		append_left_out(out, &section->filtered, "--filter or --exclude");
		append_left_out(out, &section->skipped, "--skip-size or --skip-count");
		append_left_out(out, &section->suppressed, "--suppressions");
	}
	strbuf_append(out, "</section>\n");
}
