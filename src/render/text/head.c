// SPDX-License-Identifier: Apache-2.0
#include "render/text/head.h"

#include <inttypes.h>
#include <string.h>

#include "render/class_words.h"
#include "render/text/page.h"
#include "render/text_processes.h"
#include "render/text_words.h"
#include "util/escape.h"
#include "util/units.h"

void text_append_subject(struct strbuf *text, const struct report *report)
{
	const struct snapshot *snap = report->snapshot;
	const char *subject = class_words_main(snap)->subject;

	strbuf_appendf(text, "memtrace report %" PRIu64 " of ", report->sequence);
	if (subject && report_is_of_one(report)) {
		strbuf_appendf(text, "the %s", subject);
		if (snap->processes.data->pid)
			strbuf_append(text, " for ");
	}
	if (report_is_of_one(report) && snap->processes.data->pid) {
		strbuf_append(text, "process ");
		text_append_process(text, snap->processes.data);
	} else if (!report_is_of_one(report)) {
		strbuf_appendf(text, "%zu %s", snap->processes.len,
			       text_plural(snap->processes.len, "process", "processes"));
	}
	if (snap->library) {
		strbuf_append(text, " that map ");
		escape_text(text, snap->library);
	}
}

void text_append_cause(struct text_page *page)
{
	const struct report *report = page->report;
	static const char *const causes[] = {
		[REPORT_DEMAND] = "SIGUSR1 asked for this report",
		[REPORT_COUNT] = "--count reports were made",
		[REPORT_DURATION] = "--duration has passed",
		[REPORT_STOPPED] = "stopped by Ctrl-C or SIGTERM",
		[REPORT_HANGUP] = "stopped by SIGHUP, as when its terminal is closed",
		[REPORT_EXITED] = "the target exited: what is listed was still live then",
	};
	const char *cause = causes[report->cause];
	bool is_live = class_words_main(report->snapshot)->is_live;

	if (!is_live && report->cause == REPORT_EXITED)
		cause = "the target exited";

	if (report->cause != REPORT_INTERVAL)
		text_append_line(page,
				 report_cause_is_final(report->cause) ? "final" : "cause",
				 "%s", cause);
	if (report_is_of_one(report) && report->snapshot->processes.data->exited &&
	    report->cause != REPORT_EXITED)
		text_append_line(page, "exited", "%s",
				 is_live ? causes[REPORT_EXITED] : "before this report");
}

static void append_memory(struct text_page *page, const struct snapshot_process *process)
{
	const struct snapshot_memory *memory = &process->memory;

	if (!memory->vm_rss_bytes && !memory->vm_data_bytes && !memory->vm_hwm_bytes)
		return;
	text_append_line(page, "process", "VmRSS %s, VmHWM %s, VmData %s, VmSize %s%s",
			 units_format_bytes(memory->vm_rss_bytes).s,
			 units_format_bytes(memory->vm_hwm_bytes).s,
			 units_format_bytes(memory->vm_data_bytes).s,
			 units_format_bytes(memory->vm_size_bytes).s,
			 process->exited ? " when last seen" : "");
}

static void append_sampling(struct text_page *page, const struct sampling *sampling)
{
	struct units_text interval = sampling_format_interval(sampling);

	if (sampling_is_by_size(sampling))
		text_append_line(
			page, "sampled",
			"one allocation in %s on average (--sample-bytes): bytes and "
			"counts are estimates",
			interval.s);
	else if (sampling_is_on(sampling))
		text_append_line(page, "sampled",
				 "1 in %s allocations: bytes and counts are estimates, "
				 "scaled by %s",
				 interval.s, interval.s);
}

/* Does the program report its blocks itself, through USDT probes
 * (allocator/allocator_otel.h)? Then nothing else is traced. */
static bool reports_own_blocks(const struct snapshot *snap)
{
	return snap->allocators.len &&
	       !strcmp(snap->allocators.data->label, "otel_memory");
}

void text_append_tracing(struct text_page *page)
{
	const struct report *report = page->report;
	const struct snapshot *snap = report->snapshot;
	struct units_text elapsed = units_format_duration(report->elapsed_ns);

	if (report->has_previous)
		text_append_line(page, "traced", "%s, %s since the last report",
				 elapsed.s, units_format_duration(report->since_ns).s);
	else
		text_append_line(page, "traced", "%s", elapsed.s);
	if (reports_own_blocks(snap))
		text_append_line(
			page, "reported",
			"by the program's otel_memory probes, for the blocks that it "
			"samples: each counts as the bytes that it represents");
	append_sampling(page, &snap->sampling);
	if (snap->max_size_bytes != UINT64_MAX)
		text_append_line(page, "filtered",
				 "only heap blocks of %" PRIu64 " to %" PRIu64
				 " bytes are traced",
				 snap->min_size_bytes, snap->max_size_bytes);
	else if (snap->min_size_bytes)
		text_append_line(page, "filtered",
				 "only heap blocks of %" PRIu64
				 " bytes and more are traced",
				 snap->min_size_bytes);
	if (report_is_of_one(report))
		append_memory(page, snap->processes.data);
}
