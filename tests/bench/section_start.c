// SPDX-License-Identifier: Apache-2.0
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "empty_probes.h"
#include "bpf/mm_locks.h"
#include "process/named.h"
#include "table.h"
#include "tool.h"
#include "tree.h"

#define RUNS      7
#define RUNS_FEW  3 /* of other tools, and of what takes long */
#define SETTLE_MS 300

/* What a start finds. */
enum way {
	COLD, /* no file in memory that no other process maps, and no compiled code */
	WARM, /* the files are in memory, as after an earlier run */
	KEPT, /* the files and the code that memtrace keeps */
	WAYS
};

enum figure {
	FIRST_PROBE,
	ALL_PROBES,
	RESIDENT,
	OWN, /* RESIDENT without pages of BPF maps, which are the kernel's */
	PEAK,
	PEAK_ALL, /* of all processes together (tree_kib()) */
	STOP,
	FIGURES
};

/* Medians of several runs, ms and MB. NAN: not measured. */
struct start_figures {
	double of[FIGURES];
};

static double mb_of_kib(double kib)
{
	return kib * 1024 / 1e6;
}

static void drop_cached_files(void)
{
	static const char path[] = "/proc/sys/vm/drop_caches";
	FILE *file = fopen(path, "we");

	sync();
	if (!file || fputs("3", file) < 0 || fclose(file))
		die("cannot write to %s", path);
}

static const char *const no_options[] = {NULL}, *const anew[] = {"--no-cache", NULL};

static const char *const *options_of(enum tool tool, enum way way)
{
	return tool == TOOL_MEMTRACE && way != KEPT ? anew : no_options;
}

static void measure_once(enum tool tool, enum way way, double figures[FIGURES])
{
	struct target target = target_start();

	if (way == COLD)
		drop_cached_files();

	struct tracing tracing = tool_start(tool, &target, options_of(tool, way));

	figures[FIRST_PROBE] = tracing.first_probe_ms;
	figures[ALL_PROBES] = tracing.all_probes_ms;
	sleep_ms(SETTLE_MS);
	figures[RESIDENT] = mb_of_kib(child_status_kib(&tracing.child, "VmRSS"));
	figures[OWN] = figures[RESIDENT] -
		       mb_of_kib(child_mapped_kib(&tracing.child, "bpf-map"));
	figures[PEAK] = mb_of_kib(child_status_kib(&tracing.child, "VmHWM"));
	figures[STOP] = tool_stop(&tracing);
	target_stop(&target);
}

/* Not in the runs above, which it would make slower. */
static double peak_of_all(enum tool tool, enum way way)
{
	struct target target = target_start();
	double kib;
	struct tracing tracing =
		tool_start_weighing(tool, &target, options_of(tool, way), &kib);

	sleep_ms(SETTLE_MS);
	kib = fmax(kib, tree_kib(tracing.child.pid));
	tool_stop(&tracing);
	target_stop(&target);
	return mb_of_kib(kib);
}

static struct start_figures measure(enum tool tool, enum way way)
{
	unsigned runs = tool == TOOL_MEMTRACE && way != COLD ? RUNS : RUNS_FEW;
	double figures[FIGURES][RUNS], once[FIGURES];
	struct start_figures ret;

	for (unsigned i = 0; i < runs; i++) {
		measure_once(tool, way, once);
		once[PEAK_ALL] = way == COLD ? NAN : peak_of_all(tool, way);
		for (unsigned f = 0; f < FIGURES; f++)
			figures[f][i] = once[f];
	}
	for (unsigned f = 0; f < FIGURES; f++)
		ret.of[f] = median(figures[f], runs);
	return ret;
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
static struct tools_row measure_locks(void)
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
	return (struct tools_row){"looking at all processes' locks, ms",
				  {[TOOL_MEMTRACE] = median(looks, RUNS),
				   [TOOL_MEMLEAK] = NAN,
				   [TOOL_BPFTRACE] = NAN},
				  median(lists, RUNS),
				  "listing the processes"};
}

/* What the floor of a row is. */
enum floor {
	NO_FLOOR,
	VERSION_MS,
	VERSION_MB,
	DETACH_MS,
	FLOORS
};

static const struct {
	const char *name;
	enum figure figure;
	enum way way;
	enum floor floor;
} lines[] = {
	{"exec to first probe, cold, ms", FIRST_PROBE, COLD, NO_FLOOR},
	{"  files in memory", FIRST_PROBE, WARM, VERSION_MS},
	{"  code kept by an earlier run", FIRST_PROBE, KEPT, VERSION_MS},
	{"exec to last probe, cold, ms", ALL_PROBES, COLD, NO_FLOOR},
	{"  files in memory", ALL_PROBES, WARM, VERSION_MS},
	{"  code kept by an earlier run", ALL_PROBES, KEPT, VERSION_MS},
	{"resident while tracing, MB", RESIDENT, WARM, VERSION_MB},
	{"  without its tables' pages, MB", OWN, WARM, VERSION_MB},
	{"peak resident, MB", PEAK, WARM, VERSION_MB},
	{"peak of all processes together, MB", PEAK_ALL, WARM, VERSION_MB},
	{"  code kept by an earlier run", PEAK_ALL, KEPT, VERSION_MB},
	{"SIGINT to its end, ms", STOP, WARM, DETACH_MS},
};

static void print_lines(struct start_figures figures[TOOLS][WAYS],
			const double floors[FLOORS], const struct peers *peers)
{
	static const char version[] = "memtrace --version";
	static const char *const names[FLOORS] = {NULL, version, version,
						  "taking empty probes away"};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		struct tools_row row = {.name = lines[i].name,
					.floor = floors[lines[i].floor],
					.floor_name = names[lines[i].floor]};

		for (unsigned tool = 0; tool < TOOLS; tool++)
			row.of[tool] = figures[tool][lines[i].way].of[lines[i].figure];
		table_tools_row(&row, peers);
	}
}

void section_start(const struct peers *peers)
{
	static struct start_figures figures[TOOLS][WAYS];
	double floors[FLOORS] = {[NO_FLOOR] = NAN, [DETACH_MS] = measure_detach()};
	struct tools_row locks = measure_locks();

	measure_version(&floors[VERSION_MS], &floors[VERSION_MB]);
	for (unsigned tool = 0; tool < TOOLS; tool++)
		for (unsigned way = 0; way < WAYS; way++) {
			bool is_possible = tool == TOOL_MEMTRACE ||
					   (peers->has[tool] && way != KEPT);

			for (unsigned f = 0; f < FIGURES; f++)
				figures[tool][way].of[f] = NAN;
			if (is_possible)
				figures[tool][way] = measure(tool, way);
		}
	table_tools_head("Start and stop, on a small idle process");
	print_lines(figures, floors, peers);
	table_tools_row(&locks, peers);
}
