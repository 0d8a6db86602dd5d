// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "render/text/rows.h"
#include "render/text_words.h"
#include "render/views/all.h"
#include "util/saturate.h"

static uint64_t peak_age_ns(const struct report *report, const struct report_row *row)
{
	return saturate_subtract(report->snapshot->time_ns, row->traffic->peak_time_ns);
}

/* --- text ------------------------------------------------------------------------- */

static void append_now(struct strbuf *text, const struct report_row *row)
{
	strbuf_appendf(text, "; now %s in %" PRIu64,
		       units_format_bytes(row->sum.estimated_bytes).s,
		       row->sum.estimated_count);
}

static void append_at_peak(struct text_page *page, const struct report_section *section,
			   const struct report_row *row)
{
	struct strbuf *text = &page->text;

	text_append_sum(page, section, row->at_peak_bytes, row->at_peak_count);
	strbuf_appendf(text, " at the peak of stack  (%s, %s of the peak",
		       units_format_bytes(row->at_peak_bytes).s,
		       text_format_share(row->at_peak_bytes, section->peak_bytes).s);
	if (row->traffic && row->peak_bytes)
		strbuf_appendf(text, "; at most %s, %s ago",
			       units_format_bytes(row->peak_bytes).s,
			       units_format_duration(peak_age_ns(page->report, row)).s);
	append_now(text, row);
	strbuf_append_char(text, ')');
}

static void append_own_peak(struct text_page *page, const struct report_section *section,
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
	append_now(text, row);
	strbuf_appendf(text, ", %s of the peak)",
		       text_format_share(row->sum.estimated_bytes, row->peak_bytes).s);
}

/* When the peak was, and what of it is not in the rows. */
static void append_moment(struct text_page *page, const struct report_section *section)
{
	const struct snapshot *snap = page->report->snapshot;
	uint64_t ago_ns = saturate_subtract(snap->time_ns, snap->peak_time_ns);
	uint64_t rest = saturate_subtract(section->peak_bytes, section->at_peak_bytes);

	strbuf_appendf(
		&page->text,
		"\nThe heap was largest %s after the attach, at %s: %s live\n",
		units_format_duration(
			saturate_subtract(snap->peak_time_ns, snap->attached_ns))
			.s,
		units_format_time(saturate_subtract(snap->wall_ns, ago_ns), "%H:%M:%S").s,
		units_format_bytes(section->peak_bytes).s);
	if (rest)
		strbuf_appendf(&page->text,
			       "  %" PRIu64
			       " bytes of it are of blocks without a call path\n",
			       rest);
}

static void append_text(struct text_page *page, const struct report_section *section)
{
	static const struct text_rows of_heap = {
		.heading = "of what was live at the peak of the heap",
		.append_line = append_at_peak,
	};
	static const struct text_rows of_each = {
		.heading = "with the most that each held at once",
		.append_line = append_own_peak,
	};

	if (!(page->report->data & REPORT_DATA_AT_PEAK)) {
		strbuf_append(&page->text,
			      "\nWhat was live at the peak of the heap was not counted "
			      "(that needs --peak and Linux 5.12)\n");
		text_append_rows(page, section, &of_each);
		return;
	}
	if (section->peak_bytes)
		append_moment(page, section);
	text_append_rows(page, section, &of_heap);
}

/* --- CSV -------------------------------------------------------------------------- */

static void csv_row(const struct report *report, const struct report_row *row, FILE *out)
{
	fprintf(out, "%" PRIu64 ",%" PRIu64 ",", row->peak_bytes, row->peak_count);
	/* The time is valid only if there was a peak. */
	if (row->traffic && row->peak_bytes)
		fprintf(out, "%" PRIu64, peak_age_ns(report, row));
	fprintf(out, ",%" PRIu64 ",%" PRIu64 ",", row->sum.estimated_bytes,
		row->sum.estimated_count);
	if (report->data & REPORT_DATA_AT_PEAK)
		fprintf(out, "%" PRIu64, row->at_peak_bytes);
	fputc(',', out);
	if (report->data & REPORT_DATA_AT_PEAK)
		fprintf(out, "%" PRIu64, row->at_peak_count);
}

const struct view_ops view_peak = {
	.name = "peak",
	.needs = REPORT_DATA_TRAFFIC,
	.wants = REPORT_DATA_AT_PEAK,
	.sort = REPORT_SORT_AT_PEAK,
	.past = true,
	.append_text = append_text,
	.csv_columns = "peak_bytes,peak_blocks,peak_age_ns,bytes,blocks,at_peak_bytes,"
		       "at_peak_blocks",
	.csv_row = csv_row,
};
