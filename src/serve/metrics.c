// SPDX-License-Identifier: Apache-2.0
/* The families of /metrics. docs/listen.md lists them. There is a label for the process,
 * and none that grows with the number of call paths. */
#include <inttypes.h>

#include "report/report.h"
#include "serve/openmetrics.h"
#include "serve/page.h"
#include "util/saturate.h"

/* Processes with samples of their own: those that hold most. */
#define PROCESSES_MAX 100

static void write_one(FILE *out, const struct openmetrics_family *family, uint64_t value)
{
	openmetrics_begin(out, family);
	openmetrics_u64(out, family, NULL, 0, value);
}

/* --- processes ---------------------------------------------------------------------- */

struct process_labels {
	char pid[16];
	struct openmetrics_label list[2];
};

static void set_labels(struct process_labels *labels,
		       const struct snapshot_process *process)
{
	snprintf(labels->pid, sizeof(labels->pid), "%d", process->pid);
	labels->list[0] = (struct openmetrics_label){"process", process->command};
	labels->list[1] = (struct openmetrics_label){"pid", labels->pid};
}

struct memory_part {
	struct openmetrics_family family;
	uint64_t (*get)(const struct report_process *process);
};

static uint64_t live_bytes(const struct report_process *p)
{
	return p->live.estimated_bytes;
}

static uint64_t live_blocks(const struct report_process *p)
{
	return p->live.estimated_count;
}

static uint64_t rss_bytes(const struct report_process *p)
{
	return p->process->memory.vm_rss_bytes;
}

static uint64_t anon_bytes(const struct report_process *p)
{
	return p->process->memory.rss_anon_bytes;
}

static uint64_t file_bytes(const struct report_process *p)
{
	return p->process->memory.rss_file_bytes;
}

static uint64_t shared_bytes(const struct report_process *p)
{
	return p->process->memory.rss_shmem_bytes;
}

static uint64_t hwm_bytes(const struct report_process *p)
{
	return p->process->memory.vm_hwm_bytes;
}

static uint64_t data_bytes(const struct report_process *p)
{
	return p->process->memory.vm_data_bytes;
}

static uint64_t size_bytes(const struct report_process *p)
{
	return p->process->memory.vm_size_bytes;
}

static const struct memory_part of_process[] = {
	{{"memtrace_live_bytes", "bytes",
	  "Heap bytes allocated since the attach and not freed.", METRIC_GAUGE},
	 live_bytes},
	{{"memtrace_live_blocks", "",
	  "Heap blocks allocated since the attach and not freed.", METRIC_GAUGE},
	 live_blocks},
	{{"memtrace_resident_memory_bytes", "bytes", "VmRSS of /proc/PID/status.",
	  METRIC_GAUGE},
	 rss_bytes},
	{{"memtrace_resident_anonymous_memory_bytes", "bytes",
	  "RssAnon of /proc/PID/status.", METRIC_GAUGE},
	 anon_bytes},
	{{"memtrace_resident_file_memory_bytes", "bytes", "RssFile of /proc/PID/status.",
	  METRIC_GAUGE},
	 file_bytes},
	{{"memtrace_resident_shared_memory_bytes", "bytes",
	  "RssShmem of /proc/PID/status.", METRIC_GAUGE},
	 shared_bytes},
	{{"memtrace_peak_resident_memory_bytes", "bytes", "VmHWM of /proc/PID/status.",
	  METRIC_GAUGE},
	 hwm_bytes},
	{{"memtrace_data_memory_bytes", "bytes", "VmData of /proc/PID/status.",
	  METRIC_GAUGE},
	 data_bytes},
	{{"memtrace_virtual_memory_bytes", "bytes", "VmSize of /proc/PID/status.",
	  METRIC_GAUGE},
	 size_bytes},
};

static void write_processes(const struct report_section *heap, FILE *out)
{
	size_t count =
		heap->process_count < PROCESSES_MAX ? heap->process_count : PROCESSES_MAX;
	struct process_labels labels;

	for (size_t i = 0; i < sizeof(of_process) / sizeof(*of_process); i++) {
		openmetrics_begin(out, &of_process[i].family);
		for (size_t k = 0; k < count; k++) {
			if (heap->processes[k].process->exited)
				continue;
			set_labels(&labels, heap->processes[k].process);
			openmetrics_u64(out, &of_process[i].family, labels.list, 2,
					of_process[i].get(&heap->processes[k]));
		}
	}
}

/* --- totals ------------------------------------------------------------------------- */

struct total_part {
	struct openmetrics_family family;
	uint64_t (*get)(const struct snapshot_totals *totals);
};

static uint64_t allocations(const struct snapshot_totals *t)
{
	return t->allocations;
}

static uint64_t allocated(const struct snapshot_totals *t)
{
	return t->allocated_bytes;
}

/* A process's exit frees its blocks. */
static uint64_t frees(const struct snapshot_totals *t)
{
	return saturate_add(t->frees, t->gone);
}

static uint64_t freed(const struct snapshot_totals *t)
{
	return saturate_add(t->freed_bytes, t->gone_bytes);
}

static const struct total_part of_totals[] = {
	{{"memtrace_allocations", "", "Heap blocks allocated since the attach.",
	  METRIC_COUNTER},
	 allocations},
	{{"memtrace_allocated_bytes", "bytes", "Heap bytes allocated since the attach.",
	  METRIC_COUNTER},
	 allocated},
	{{"memtrace_frees", "",
	  "Heap blocks of these that were freed, also by the exit of their process.",
	  METRIC_COUNTER},
	 frees},
	{{"memtrace_freed_bytes", "bytes",
	  "Heap bytes of these that were freed, also by the exit of their process.",
	  METRIC_COUNTER},
	 freed},
};

static void write_totals(const struct report_section *heap, FILE *out)
{
	for (size_t i = 0; i < sizeof(of_totals) / sizeof(*of_totals); i++)
		write_one(out, &of_totals[i].family,
			  of_totals[i].get(&heap->estimated_totals));
}

/* --- losses, and memtrace itself ---------------------------------------------------- */

static void write_losses(const struct snapshot *snap, FILE *out)
{
	static const struct openmetrics_family family = {
		"memtrace_losses", "",
		"Events that could not be recorded; without any the accounting is "
		"complete.",
		METRIC_COUNTER};

	openmetrics_begin(out, &family);
	for (size_t i = 0; i < LOSS_COUNT; i++)
		openmetrics_u64(out, &family,
				&(const struct openmetrics_label){
					"kind", loss_name((enum loss)i)},
				1, snap->losses[i]);
}

static void write_state(const struct report *report, FILE *out)
{
	static const struct openmetrics_family paths = {"memtrace_call_paths", "",
							"Call paths that have allocated.",
							METRIC_GAUGE};
	static const struct openmetrics_family sampled = {
		"memtrace_sampled", "",
		"1: blocks were sampled, and heap numbers are estimates.", METRIC_GAUGE};
	static const struct openmetrics_family traced = {
		"memtrace_traced_seconds", "seconds", "Time since the attach.",
		METRIC_GAUGE};
	const struct snapshot *snap = report->snapshot;
	uint64_t count = 0;

	for (size_t i = 0; i < report->section_count; i++)
		count += report->sections[i].stack_count;
	write_one(out, &paths, count);
	write_one(out, &sampled, sampling_is_on(&snap->sampling));
	openmetrics_begin(out, &traced);
	openmetrics_seconds(out, &traced, report->elapsed_ns);
}

static void write_tracer(const struct page *page, FILE *out)
{
	static const struct openmetrics_family build = {
		"memtrace_build", "", "The version of memtrace.", METRIC_INFO};
	static const struct openmetrics_family snapshots = {
		"memtrace_snapshots", "", "Snapshots taken for scrapes.", METRIC_COUNTER};
	static const struct openmetrics_family seconds = {
		"memtrace_snapshot_seconds", "seconds",
		"Time that the newest of these snapshots took.", METRIC_GAUGE};
	static const struct openmetrics_family rss = {
		"memtrace_tracer_resident_memory_bytes", "bytes",
		"Resident memory of memtrace, without its helpers and the kernel's "
		"tables.",
		METRIC_GAUGE};
	static const struct openmetrics_family cpu = {
		"memtrace_tracer_cpu_seconds", "seconds",
		"Processor time of memtrace and of its helpers that have ended.",
		METRIC_COUNTER};
	const struct feed_answer *answer;

	openmetrics_begin(out, &build);
	openmetrics_u64(out, &build,
			&(const struct openmetrics_label){"version", MEMTRACE_VERSION}, 1,
			1);
	write_one(out, &snapshots, page->snapshots);
	if (!page->observation)
		return;
	answer = &page->observation->answer;
	openmetrics_begin(out, &seconds);
	openmetrics_seconds(out, &seconds, answer->taken_ns);
	write_one(out, &rss, answer->tracer_rss_bytes);
	openmetrics_begin(out, &cpu);
	openmetrics_seconds(out, &cpu, answer->tracer_cpu_ns);
}

struct error *metrics_page(const struct page *page, FILE *out)
{
	static const struct openmetrics_family processes = {
		"memtrace_traced_processes", "", "Processes that are traced now.",
		METRIC_GAUGE};
	const struct report_section *heap =
		page->observation ? report_find_section(page->report, BLOCK_HEAP) : NULL;
	uint64_t running = 0;

	if (page->observation)
		vec_foreach (process, &page->report->snapshot->processes)
			running += !process->exited;
	write_one(out, &processes, running);
	if (heap) {
		write_processes(heap, out);
		write_totals(heap, out);
	}
	if (page->observation) {
		write_losses(page->report->snapshot, out);
		write_state(page->report, out);
	}
	write_tracer(page, out);
	openmetrics_end(out);
	return NULL;
}
