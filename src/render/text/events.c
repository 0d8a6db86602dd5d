// SPDX-License-Identifier: Apache-2.0
#include "render/text/events.h"

#include <inttypes.h>

#include "render/text/rows.h"
#include "render/text_words.h"
#include "util/escape.h"
#include "util/units.h"

static void append_growth(struct text_page *page, const struct report_section *section)
{
	int64_t growth = section->estimated_live_growth_bytes;

	if (!page->report->has_growth)
		return;
	if (page->report->snapshot->event_bytes)
		text_append_line(page, "", "%s since the last report",
				 text_format_growth(growth).s);
	else
		text_append_line(page, "", "%+" PRId64 " since the last report", growth);
}

static void append_left_out(struct text_page *page, const char *label,
			    const struct report_left_out *left_out, const char *how)
{
	uint64_t count = left_out->sum.count, stacks = left_out->stack_count;

	if (stacks)
		text_append_line(page, label, "%" PRIu64 " %s in %" PRIu64 " %s, by %s",
				 count, text_plural(count, "event", "events"), stacks,
				 text_plural(stacks, "stack", "stacks"), how);
}

static void append_numbers(struct text_page *page, const struct report_section *section)
{
	const struct snapshot *snap = page->report->snapshot;
	uint64_t count = section->live.count;
	uint64_t stacks = section->stack_count + section->filtered.stack_count +
			  section->skipped.stack_count + section->suppressed.stack_count;
	struct strbuf *text = &page->text;

	strbuf_appendf(text, "  %-12s", "event");
	escape_text(text, snap->event);
	if (snap->event_period > 1)
		strbuf_appendf(text,
			       ", each %" PRIu64 "th is seen and stands for so many",
			       snap->event_period);
	strbuf_append_char(text, '\n');
	strbuf_appendf(text, "  %-12s%" PRIu64 " %s in %" PRIu64 " %s", "counted", count,
		       text_plural(count, "event", "events"), stacks,
		       text_plural(stacks, "stack", "stacks"));
	if (snap->event_bytes)
		strbuf_appendf(text, ", %s",
			       units_format_bytes(section->live.size_bytes).s);
	strbuf_append_char(text, '\n');
	append_growth(page, section);
	append_left_out(page, "left out", &section->filtered, "--filter and --exclude");
	append_left_out(page, "left out", &section->skipped,
			"--skip-size and --skip-count");
	append_left_out(page, "suppressed", &section->suppressed, "--suppressions");
	if (section->totals.gone)
		text_append_line(page, "gone",
				 "%" PRIu64 " more of processes that exited or executed "
				 "another program",
				 section->totals.gone);
	text_append_line(page, "rate", "%s per second",
			 units_format_rate(section->rates.allocations).s);
}

/* Example: "1234 events from stack  (5.6 %, +78)". */
static void append_line(struct text_page *page, const struct report_section *section,
			const struct report_row *row)
{
	const struct report *report = page->report;
	struct strbuf *text = &page->text;
	uint64_t count = row->sum.count;

	text_set_style(page, TEXT_NUMBER);
	strbuf_appendf(text, "%" PRIu64 " %s", count,
		       text_plural(count, "event", "events"));
	text_set_style(page, TEXT_PLAIN);
	strbuf_appendf(text, " from stack  (%s",
		       text_format_share(count, section->live.count).s);
	if (report->snapshot->event_bytes)
		strbuf_appendf(text, ", %s", units_format_bytes(row->sum.size_bytes).s);
	if (report->has_growth)
		strbuf_appendf(text, ", %+" PRId64, row->growth_count);
	strbuf_append_char(text, ')');
}

void text_append_events(struct text_page *page, const struct report_section *section)
{
	static const struct text_rows rows = {
		.heading_mappings = "by events",
		.append_line = append_line,
	};

	append_numbers(page, section);
	text_append_rows(page, section, &rows);
}
