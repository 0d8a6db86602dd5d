// SPDX-License-Identifier: Apache-2.0
#include "render/formats.h"

#include <inttypes.h>
#include <stdarg.h>
#include <time.h>

#include "render/text_processes.h"
#include "render/text_rows.h"
#include "render/text_words.h"
#include "util/escape.h"
#include "util/units.h"

/* The words for one class of blocks. */
struct words {
	const char *class, *block, *blocks, *origin, *made, *gone, *free, *frees;
};

static const struct words words[BLOCK_CLASS_COUNT] = {
	[BLOCK_HEAP] = {"heap", "block", "blocks", "allocated", "allocated", "freed",
			"free", "frees"},
	[BLOCK_MAPPING] = {"mappings", "mapping", "mappings", "made", "mapped",
			   "unmapped", "unmap", "unmaps"},
	[BLOCK_EVENT] = {"events", "event", "events", NULL, NULL, NULL, NULL, NULL},
};

/* "  label         text\n", the text printf-style. */
__attribute__((format(printf, 3, 4))) static void
append_line(struct strbuf *text, const char *label, const char *format, ...)
{
	char buf[256];
	va_list ap;

	/* Nothing of the target's choosing comes this way, so it fits. */
	va_start(ap, format);
	vsnprintf(buf, sizeof(buf), format, ap);
	va_end(ap);
	strbuf_appendf(text, "  %-12s%s\n", label, buf);
}

/* "960 bytes", "1.5 KiB (1536 bytes)". */
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

/* Local time of the snapshot by strftime(3). */
static void format_time(const struct snapshot *snap, const char *format, char *buf,
			size_t size)
{
	time_t seconds = (time_t)(snap->wall_ns / UNITS_NS_PER_S);
	struct tm tm;

	if (!localtime_r(&seconds, &tm) || !strftime(buf, size, format, &tm))
		snprintf(buf, size, "unknown time");
}

static void append_title(struct strbuf *text, const struct report *report)
{
	const struct snapshot *snap = report->snapshot;
	char time[64];

	format_time(snap, "%Y-%m-%d %H:%M:%S %z", time, sizeof(time));
	strbuf_appendf(text, "memtrace report %" PRIu64 " of ", report->sequence);
	if (text_is_of_one(report)) {
		strbuf_append(text, "process ");
		text_append_process(text, snap->processes.data);
	} else {
		strbuf_appendf(text, "%zu %s", snap->processes.len,
			       text_plural(snap->processes.len, "process", "processes"));
	}
	if (snap->library) {
		strbuf_append(text, " that map ");
		escape_text(text, snap->library);
	}
	strbuf_appendf(text, ", %s\n", time);
}

static void append_cause(struct strbuf *text, const struct report *report)
{
	static const char *const causes[] = {
		[REPORT_DEMAND] = "SIGUSR1 asked for this report",
		[REPORT_COUNT] = "--count reports were made",
		[REPORT_DURATION] = "--duration has passed",
		[REPORT_STOPPED] = "stopped by Ctrl-C or SIGTERM",
		[REPORT_EXITED] = "the target exited: what is listed was still live then",
	};
	const char *cause = causes[report->cause];

	/* Events were, and are not any more. */
	if (report->snapshot->event && report->cause == REPORT_EXITED)
		cause = "the target exited";

	if (report->cause != REPORT_INTERVAL)
		append_line(text,
			    report_cause_is_final(report->cause) ? "final" : "cause",
			    "%s", cause);
	if (text_is_of_one(report) && report->snapshot->processes.data->exited &&
	    report->cause != REPORT_EXITED)
		append_line(text, "exited", "%s",
			    report->snapshot->event ? "before this report"
						    : causes[REPORT_EXITED]);
}

static void append_memory(struct strbuf *text, const struct snapshot_process *process)
{
	const struct snapshot_memory *memory = &process->memory;

	if (!memory->vm_rss_bytes && !memory->vm_data_bytes && !memory->vm_hwm_bytes)
		return;
	append_line(text, "process", "VmRSS %s, VmHWM %s, VmData %s, VmSize %s%s",
		    units_format_bytes(memory->vm_rss_bytes).s,
		    units_format_bytes(memory->vm_hwm_bytes).s,
		    units_format_bytes(memory->vm_data_bytes).s,
		    units_format_bytes(memory->vm_size_bytes).s,
		    process->exited ? " when last seen" : "");
}

static void append_tracing(struct strbuf *text, const struct report *report)
{
	const struct snapshot *snap = report->snapshot;
	struct units_text elapsed = units_format_duration(report->elapsed_ns);

	if (report->has_previous)
		append_line(text, "traced", "%s, %s since the last report", elapsed.s,
			    units_format_duration(report->since_ns).s);
	else
		append_line(text, "traced", "%s", elapsed.s);
	if (snap->sample_every > 1)
		append_line(text, "sampled",
			    "1 in %" PRIu64 " allocations: bytes and counts are "
			    "estimates, scaled by %" PRIu64,
			    snap->sample_every, snap->sample_every);
	if (snap->sample_bytes)
		append_line(text, "sampled",
			    "one allocation in %s on average (--sample-bytes): bytes and "
			    "counts are estimates",
			    units_format_bytes(snap->sample_bytes).s);
	if (snap->max_size_bytes != UINT64_MAX)
		append_line(text, "filtered",
			    "only heap blocks of %" PRIu64 " to %" PRIu64
			    " bytes are traced",
			    snap->min_size_bytes, snap->max_size_bytes);
	else if (snap->min_size_bytes)
		append_line(text, "filtered",
			    "only heap blocks of %" PRIu64 " bytes and more are traced",
			    snap->min_size_bytes);
	if (text_is_of_one(report))
		append_memory(text, snap->processes.data);
}

/* "events      1234 in 5 stacks: uprobe:libc.so.6:malloc" */
static void append_events(struct strbuf *text, const struct report *report,
			  const struct report_section *section)
{
	const struct snapshot *snap = report->snapshot;
	const struct snapshot_totals *totals = &section->totals;
	uint64_t count = section->live.count, stacks = section->stack_count;

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
	if (report->has_previous && snap->event_bytes)
		append_line(text, "", "%s since the last report",
			    text_format_growth(section->estimated_live_growth_bytes).s);
	else if (report->has_previous)
		append_line(text, "", "%+" PRId64 " since the last report",
			    section->estimated_live_growth_bytes);
	if (totals->gone)
		append_line(text, "gone",
			    "%" PRIu64 " more of processes that exited or executed "
			    "another program",
			    totals->gone);
	append_line(text, "rate", "%s per second",
		    units_format_rate(section->rates.allocations).s);
}

static void append_live(struct strbuf *text, const struct report *report,
			const struct report_section *section)
{
	const struct words *w = &words[section->class];
	uint64_t size = section->live.estimated_bytes;
	uint64_t count = section->live.estimated_count;

	append_line(text, w->class, "%s live in %" PRIu64 " %s %s since the attach",
		    format_exact(size).s, count, text_plural(count, w->block, w->blocks),
		    w->origin);
	if (report->has_previous)
		append_line(text, "", "%s since the last report",
			    text_format_growth(section->estimated_live_growth_bytes).s);
	if (report->options.combined_only || !report->options.older_ns)
		return;
	size = section->listed.estimated_bytes;
	count = section->listed.estimated_count;
	append_line(text, "", "%s of it in %" PRIu64 " %s older than %s",
		    format_exact(size).s, count, text_plural(count, w->block, w->blocks),
		    units_format_duration(report->options.older_ns).s);
}

static void append_rate(struct strbuf *text, const char *label, const double per_s[2],
			const uint64_t total[2])
{
	double bytes_per_s = per_s[1] + 0.5;
	uint64_t whole = bytes_per_s < 1e19 ? (uint64_t)bytes_per_s : UINT64_MAX;

	append_line(text, label, "%s per second (%s/s), %" PRIu64 " in all (%s)",
		    units_format_rate(per_s[0]).s, units_format_bytes(whole).s, total[0],
		    units_format_bytes(total[1]).s);
}

static void append_traffic(struct strbuf *text, const struct report *report,
			   const struct report_section *section)
{
	const struct words *w = &words[section->class];
	const struct snapshot *snap = report->snapshot;
	const struct snapshot_totals *totals = &section->totals;
	const struct snapshot_totals *estimated = &section->estimated_totals;
	const struct report_rates *rates = &section->estimated_rates;
	/* Only when all blocks are tracked are the unknown ones surely older. */
	bool all = !section->is_estimate && !snap->min_size_bytes &&
		   snap->max_size_bytes == UINT64_MAX && !snapshot_has_losses(snap);

	append_rate(
		text, w->made,
		(const double[]){rates->allocations, rates->allocated_bytes},
		(const uint64_t[]){estimated->allocations, estimated->allocated_bytes});
	append_rate(text, w->gone, (const double[]){rates->frees, rates->freed_bytes},
		    (const uint64_t[]){estimated->frees, estimated->freed_bytes});
	if (totals->frees_unknown)
		append_line(
			text, "", "%" PRIu64 " more %s, of %s %s", totals->frees_unknown,
			text_plural(totals->frees_unknown, w->free, w->frees), w->blocks,
			all ? "from before the attach" : "that were not tracked");
	if (totals->gone)
		append_line(text, "gone",
			    "%" PRIu64 " %s (%s) with processes that exited or executed "
			    "another program",
			    totals->gone, text_plural(totals->gone, w->block, w->blocks),
			    units_format_bytes(totals->gone_bytes).s);
	if (totals->failures)
		append_line(text, "failed", "%" PRIu64 " %s returned no memory",
			    totals->failures,
			    text_plural(totals->failures, "call", "calls"));
}

static void append_losses(struct strbuf *text, const struct snapshot *snap)
{
	if (!snapshot_has_losses(snap))
		return;
	strbuf_append(text, "\nNot everything could be recorded:\n");
	for (size_t i = 0; i < LOSS_COUNT; i++) {
		if (!snap->losses[i])
			continue;
		strbuf_appendf(text, "  %-18s  %10" PRIu64 "  %s", loss_name(i),
			       snap->losses[i], loss_remedy(i));
		if (i == LOSS_BLOCKS_FULL)
			strbuf_appendf(text, " (now %" PRIu64 ")", snap->max_allocations);
		else if (i == LOSS_STACKS_FULL)
			strbuf_appendf(text, " (now %" PRIu64 ")", snap->max_stacks);
		strbuf_append_char(text, '\n');
	}
}

static struct error *render_text(const struct report *report, FILE *out)
{
	struct strbuf text = {0};
	struct error *err = NULL;
	char clock[32];

	format_time(report->snapshot, "%H:%M:%S", clock, sizeof(clock));
	append_title(&text, report);
	append_cause(&text, report);
	append_tracing(&text, report);
	for (size_t i = 0; i < report->section_count; i++) {
		const struct report_section *section = &report->sections[i];

		if (i)
			strbuf_append_char(&text, '\n');
		if (section->class == BLOCK_EVENT) {
			append_events(&text, report, section);
		} else {
			append_live(&text, report, section);
			append_traffic(&text, report, section);
		}
		if (!text_is_of_one(report))
			text_append_processes(&text, report, section);
		text_append_rows(&text, report, section, clock, out);
	}
	append_losses(&text, report->snapshot);
	/* Reports follow each other in one stream. */
	strbuf_append_char(&text, '\n');
	if (text.failed)
		err = error_no_memory();
	else
		fwrite(text.data, 1, text.len, out);
	strbuf_deinit(&text);
	return err;
}

const struct renderer text_renderer = {.name = "text", .render = render_text};
