// SPDX-License-Identifier: Apache-2.0
#include "render/text/sums.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "render/class_words.h"
#include "render/text/page.h"
#include "render/text_words.h"
#include "util/cleanup.h"
#include "util/escape.h"
#include "util/saturate.h"
#include "util/units.h"

/* Examples: "960 bytes", "1.5 KiB (1536 bytes)". */
struct exact_bytes {
	char s[64];
};

static struct exact_bytes format_exact(uint64_t bytes)
{
	struct exact_bytes text;

	if (bytes < 1024)
		snprintf(text.s, sizeof(text.s), "%" PRIu64 " %s", bytes,
			 text_plural(bytes, "byte", "bytes"));
	else
		snprintf(text.s, sizeof(text.s), "%s (%" PRIu64 " bytes)",
			 units_format_bytes(bytes).s, bytes);
	return text;
}

void text_append_live(struct text_page *page, const struct report_section *section)
{
	const struct report *report = page->report;
	const struct class_words *w = class_words(section->class);
	uint64_t size = section->live.estimated_bytes;
	uint64_t count = section->live.estimated_count;

	text_append_line(page, w->name, "%s live in %" PRIu64 " %s %s since the attach",
			 format_exact(size).s, count,
			 text_plural(count, w->block, w->blocks), w->origin);
	if (report->has_growth)
		text_append_line(
			page, "", "%s since the last report",
			text_format_growth(section->estimated_live_growth_bytes).s);
	if (report->options.combined_only || !report->options.older_ns)
		return;
	size = section->listed.estimated_bytes;
	count = section->listed.estimated_count;
	text_append_line(page, "", "%s of it in %" PRIu64 " %s older than %s",
			 format_exact(size).s, count,
			 text_plural(count, w->block, w->blocks),
			 units_format_duration(report->options.older_ns).s);
}

void text_append_kernel(struct text_page *page, const struct report_section *section)
{
	const struct snapshot *snap = page->report->snapshot;
	uint64_t times = section->is_estimate ? sampling_factor(&snap->sampling) : 1;

	if (section->class != BLOCK_KERNEL)
		return;
	vec_foreach (kind, &snap->kernel_classes) {
		const struct snapshot_totals *t = &kind->totals;
		uint64_t live = saturate_subtract(t->allocations, t->frees);
		uint64_t size = saturate_subtract(t->allocated_bytes, t->freed_bytes);

		strbuf_append(&page->text, "  ");
		escape_text(&page->text, kind->name);
		strbuf_appendf(&page->text, "%*s%s", 12 - (int)strnlen(kind->name, 11),
			       "", units_format_bytes(report_times(size, times)).s);
		strbuf_appendf(
			&page->text,
			" live in %" PRIu64 ", %" PRIu64 " allocated, %" PRIu64 " freed",
			report_times(live, times), report_times(t->allocations, times),
			report_times(t->frees, times));
		if (t->frees_unknown)
			strbuf_appendf(&page->text, ", %" PRIu64 " more %s",
				       t->frees_unknown,
				       text_plural(t->frees_unknown, "free", "frees"));
		strbuf_append_char(&page->text, '\n');
	}
}

void text_append_peak(struct text_page *page, const struct report_section *section)
{
	const struct snapshot *snap = page->report->snapshot;

	if (!section->peak_bytes)
		return;
	text_append_line(page, "peak", "%s at once, %s ago",
			 format_exact(section->peak_bytes).s,
			 text_format_ago(page->report, snap->peak_time_ns).s);
	if (section->missed_peak_bytes)
		text_append_line(page, "",
				 "%s for a moment while memtrace read its tables",
				 format_exact(section->missed_peak_bytes).s);
}

static void append_left_out(struct text_page *page, const struct report_section *section,
			    const char *label, const struct report_left_out *left_out,
			    const char *how)
{
	const struct class_words *w = class_words(section->class);
	uint64_t count = left_out->sum.estimated_count;
	char lost[64] = "";

	if (!left_out->stack_count)
		return;
	if (left_out->lost_bytes)
		snprintf(lost, sizeof(lost), "; %s of them lost",
			 units_format_bytes(left_out->lost_bytes).s);
	text_append_line(page, label, "%s in %" PRIu64 " %s of %" PRIu64 " %s, by %s%s",
			 format_exact(left_out->sum.estimated_bytes).s, count,
			 text_plural(count, w->block, w->blocks), left_out->stack_count,
			 text_plural(left_out->stack_count, "stack", "stacks"), how,
			 lost);
}

void text_append_left_out(struct text_page *page, const struct report_section *section)
{
	append_left_out(page, section, "left out", &section->filtered,
			"--filter and --exclude");
	if (page->report->near_filter && section->filtered.stack_count) {
		_cleanup_(freep) char *names = escape_dup(page->report->near_filter);

		text_append_line(page, "left out",
				 "no stack matches --filter; the nearest names: %s",
				 names ? names : "");
	}
	append_left_out(page, section, "left out", &section->skipped,
			"--skip-size and --skip-count");
	append_left_out(page, section, "suppressed", &section->suppressed,
			"--suppressions");
}

static void append_rate(struct text_page *page, const char *label, const double per_s[2],
			const uint64_t total[2])
{
	double bytes_per_s = per_s[1] + 0.5;
	uint64_t whole = bytes_per_s < 1e19 ? (uint64_t)bytes_per_s : UINT64_MAX;

	text_append_line(page, label, "%s per second (%s/s), %" PRIu64 " in all (%s)",
			 units_format_rate(per_s[0]).s, units_format_bytes(whole).s,
			 total[0], units_format_bytes(total[1]).s);
}

/*
 * Append frees of blocks that were not known to be live. Even if all blocks are traced
 * (`all`), such blocks do not have to be older than the attach: when a thread exits,
 * glibc passes the freed blocks in the thread's cache to free() again; a forked child
 * frees blocks of its parent; and not every function that allocates is traced.
 */
static void append_unknown(struct text_page *page, enum block_class class, uint64_t count,
			   bool all)
{
	const struct report *report = page->report;
	const struct class_words *w = class_words(class);
	_cleanup_(strbuf_deinit) struct strbuf which = {0};

	if (!all) {
		strbuf_append(&which, "that were not tracked");
	} else {
		if (!report->snapshot->launched)
			strbuf_append(&which, "from before the attach, ");
		strbuf_appendf(&which, "%s already, ", w->gone);
		if (!report_is_of_one(report))
			strbuf_append(&which, "inherited by a fork, ");
		strbuf_append(&which, "or not traced");
	}
	text_append_line(page, "", "%" PRIu64 " more %s, of %s %s", count,
			 text_plural(count, w->free, w->frees), w->blocks,
			 strbuf_text(&which));
}

void text_append_failures(struct text_page *page, const struct report_section *section)
{
	const struct class_words *w = class_words(section->class);
	const struct snapshot_totals *totals = &section->totals;

	if (totals->gone)
		text_append_line(
			page, "gone",
			"%" PRIu64 " %s (%s) with processes that exited or executed "
			"another program",
			totals->gone, text_plural(totals->gone, w->block, w->blocks),
			units_format_bytes(totals->gone_bytes).s);
	if (totals->failures)
		text_append_line(page, "failed", "%" PRIu64 " %s returned no memory",
				 totals->failures,
				 text_plural(totals->failures, "call", "calls"));
}

/* "in flight   +2 blocks, -8488 bytes, by calls while this report was made". */
static void append_in_flight(struct text_page *page, const struct report_section *section)
{
	int64_t count = section->in_flight_count, bytes = section->in_flight_bytes;

	if (!count && !bytes)
		return;
	text_append_line(page, "in flight",
			 "%+" PRId64 " %s, %+" PRId64
			 " bytes, by calls while this report was made",
			 count,
			 text_plural(count < 0 ? -(uint64_t)count : (uint64_t)count,
				     "block", "blocks"),
			 bytes);
}

void text_append_traffic(struct text_page *page, const struct report_section *section)
{
	const struct report *report = page->report;
	const struct class_words *w = class_words(section->class);
	const struct snapshot *snap = report->snapshot;
	const struct snapshot_totals *totals = &section->totals;
	const struct snapshot_totals *estimated = &section->estimated_totals;
	const struct report_rates *rates = &section->estimated_rates;
	bool all = !section->is_estimate && !snap->min_size_bytes &&
		   snap->max_size_bytes == UINT64_MAX && !snapshot_has_losses(snap);

	append_rate(
		page, w->made,
		(const double[]){rates->allocations, rates->allocated_bytes},
		(const uint64_t[]){estimated->allocations, estimated->allocated_bytes});
	append_rate(page, w->gone, (const double[]){rates->frees, rates->freed_bytes},
		    (const uint64_t[]){estimated->frees, estimated->freed_bytes});
	append_in_flight(page, section);
	if (totals->frees_unknown)
		append_unknown(page, section->class, totals->frees_unknown, all);
	text_append_failures(page, section);
}

void text_append_losses(struct text_page *page)
{
	const struct snapshot *snap = page->report->snapshot;
	struct strbuf *text = &page->text;

	if (!snapshot_has_losses(snap))
		return;
	strbuf_append_char(text, '\n');
	text_set_style(page, TEXT_WARNING);
	strbuf_append(text, "Not everything could be recorded:");
	text_set_style(page, TEXT_PLAIN);
	strbuf_append_char(text, '\n');
	if (snap->inconsistent)
		strbuf_append(text,
			      "  This report is not of one moment: blocks that moved "
			      "while it was made may be missing or listed twice.\n");
	for (size_t i = 0; i < LOSS_COUNT; i++) {
		if (!snap->losses[i])
			continue;
		strbuf_appendf(text, "  %-18s  %10" PRIu64 "  %s", loss_name(i),
			       snap->losses[i], loss_remedy(i));
		if (i == LOSS_BLOCKS_FULL)
			strbuf_appendf(text, " (now %" PRIu64 ")", snap->max_allocations);
		else if (i == LOSS_STACKS_FULL)
			strbuf_appendf(text, " (now %" PRIu64 ")", snap->max_stacks);
		else if (i == LOSS_THREADS_FULL)
			strbuf_appendf(text, " (now %" PRIu64 ")", snap->max_threads);
		strbuf_append_char(text, '\n');
	}
}
