// SPDX-License-Identifier: Apache-2.0
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "empty_probes.h"
#include "bpf/mm_locks.h"
#include "process/named.h"
#include "table.h"
#include "tool.h"

#define RUNS      7
#define RUNS_PEER 3
#define SETTLE_MS 300

/* Medians of several runs. */
struct start_figures {
	double first_probe_ms, all_probes_ms;
	double rss_mb, peak_mb; /* resident memory of the tracer, peak of it */
	double mapped_mb; /* part of rss_mb: pages of BPF maps, which are the kernel's */
	double peak_all_mb; /* the largest of the tracer and its children */
	double stop_ms;
};

static double mb_of_kib(double kib)
{
	return kib * 1024 / 1e6;
}

static const char *const no_options[] = {NULL}, *const anew[] = {"--no-cache", NULL};

static struct start_figures measure(enum tool tool, const char *const options[],
				    unsigned runs)
{
	double first[RUNS], all[RUNS], rss[RUNS], mapped[RUNS], peak[RUNS],
		peak_all[RUNS], stop[RUNS];

	for (unsigned i = 0; i < runs; i++) {
		struct target target = target_start();
		struct tracing tracing = tool_start(tool, &target, options);
		struct rusage usage;

		first[i] = tracing.first_probe_ms;
		all[i] = tracing.all_probes_ms;
		sleep_ms(SETTLE_MS);
		rss[i] = mb_of_kib(child_status_kib(&tracing.child, "VmRSS"));
		mapped[i] = mb_of_kib(child_mapped_kib(&tracing.child, "bpf-map"));
		peak[i] = mb_of_kib(child_status_kib(&tracing.child, "VmHWM"));
		stop[i] = tool_stop(&tracing, &usage);
		peak_all[i] = mb_of_kib((double)usage.ru_maxrss);
		target_stop(&target);
	}
	return (struct start_figures){.first_probe_ms = median(first, runs),
				      .all_probes_ms = median(all, runs),
				      .rss_mb = median(rss, runs),
				      .mapped_mb = median(mapped, runs),
				      .peak_mb = median(peak, runs),
				      .peak_all_mb = median(peak_all, runs),
				      .stop_ms = median(stop, runs)};
}

/* `memtrace --version`: the cost of starting the binary when it does nothing. */
static void measure_version(double *ms, double *peak_mb)
{
	static const char *const argv[] = {MEMTRACE_BINARY, "--version", NULL};
	double times[RUNS], peaks[RUNS];

	for (unsigned i = 0; i < RUNS; i++) {
		struct child child = child_start(argv);
		struct rusage usage;

		times[i] =
			(double)(child_wait(&child, 10, &usage) - child.started_ns) / 1e6;
		peaks[i] = mb_of_kib((double)usage.ru_maxrss);
	}
	*ms = median(times, RUNS);
	*peak_mb = median(peaks, RUNS);
}

static double measure_detach(void)
{
	double ms[RUNS];

	for (unsigned i = 0; i < RUNS; i++) {
		struct target target = target_start();

		ms[i] = empty_probes_detach(empty_probes_attach(target.child.pid));
		target_stop(&target);
	}
	return median(ms, RUNS);
}

/* mm_locks_find_held() looks at nothing if it has found nothing shortly before. */
#define LOOK_PAUSE_MS 60

/* Part of the start: to look whether a process of the machine holds the lock of its
 * address space. The floor lists the processes. */
static struct row measure_locks(void)
{
	double looks[RUNS], lists[RUNS];

	for (unsigned i = 0; i < RUNS; i++) {
		uint64_t begun_ns = now_ns();

		(void)named_count();
		lists[i] = (double)(now_ns() - begun_ns) / 1e6;
		sleep_ms(LOOK_PAUSE_MS);
		begun_ns = now_ns();
		if (mm_locks_find_held(MM_LOCKS_SET_NS))
			fprintf(stderr, "a process holds its lock\n");
		looks[i] = (double)(now_ns() - begun_ns) / 1e6;
	}
	return (struct row){"looking at all processes' locks, ms", median(looks, RUNS),
			    median(lists, RUNS), NAN, "listing the processes"};
}

void section_start(bool has_peer)
{
	static const char version[] = "memtrace --version";
	struct start_figures m = measure(TOOL_MEMTRACE, anew, RUNS),
			     kept = measure(TOOL_MEMTRACE, no_options, RUNS),
			     p = {NAN, NAN, NAN, NAN, NAN, NAN, NAN};
	double version_ms, version_mb, detach_ms = measure_detach();

	measure_version(&version_ms, &version_mb);
	if (has_peer)
		p = measure(TOOL_MEMLEAK, no_options, RUNS_PEER);

	const struct row rows[] = {
		{"exec to first probe, ms", m.first_probe_ms, version_ms,
		 p.first_probe_ms, version},
		{"the same, code kept by an earlier run", kept.first_probe_ms, version_ms,
		 p.first_probe_ms, version},
		{"exec to tracing, ms", m.all_probes_ms, version_ms, p.all_probes_ms,
		 version},
		{"the same, code kept by an earlier run", kept.all_probes_ms, version_ms,
		 p.all_probes_ms, version},
		{"resident while tracing, MB", m.rss_mb, version_mb, p.rss_mb, version},
		{"  without its tables' pages, MB", m.rss_mb - m.mapped_mb, version_mb,
		 p.rss_mb - p.mapped_mb, version},
		{"peak resident, MB", m.peak_mb, version_mb, p.peak_mb, version},
		{"peak of it or of a child, MB", m.peak_all_mb, version_mb, p.peak_all_mb,
		 version},
		{"the same, code kept by an earlier run", kept.peak_all_mb, version_mb,
		 p.peak_all_mb, version},
		{"SIGINT to its end, ms", m.stop_ms, detach_ms, p.stop_ms,
		 "taking empty probes away"},
		measure_locks(),
	};

	table_head("Start and stop, on a small idle process");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		table_row(&rows[i], has_peer);
}
