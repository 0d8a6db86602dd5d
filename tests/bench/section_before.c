// SPDX-License-Identifier: Apache-2.0
/* The start, a pair of malloc and free, a report with source lines, and the size of the
 * program, compared with another memtrace in one run. */
#include "bench.h"

#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tool.h"

#define RUNS             9
#define STACKS           1000
#define BLOCKS           10000
#define PAIRS            200000
#define PAIRS_DEPTH      4 /* 6 frames below main, as in section_pairs.c */
#define AGE_MS           1000
#define QUIET_MS         500
#define REPORT_TIMEOUT_S 60

enum figure {
	START,  /* exec to tracing, after other runs */
	ANEW,   /* exec to tracing, without a cache */
	FIRST,  /* first report, which reads debug information */
	SECOND, /* second report */
	PAIR,
	FIGURES
};

static const char *const names[FIGURES] = {
	[START] = "exec to tracing, ms",
	[ANEW] = "the same, when nothing is kept, ms",
	[FIRST] = "first report of 1,000 stacks with lines, ms",
	[SECOND] = "second report of them, ms",
	[PAIR] = "a pair of malloc and free, ns",
};

static double report_ms(struct tracing *tracing)
{
	uint64_t start_ns = now_ns();

	kill(tracing->child.pid, SIGUSR1);

	struct text text = child_read_burst(&tracing->child, REPORT_TIMEOUT_S, QUIET_MS);
	double ms = (double)(text.last_ns - start_ns) / 1e6;

	text_deinit(&text);
	return ms;
}

/* Exec to tracing, with the cache of earlier runs disabled. */
static double anew_ms(enum tool tool)
{
	static const char *const no_options[] = {NULL};
	struct target target = target_start();

	setenv("MEMTRACE_CACHE", "/proc/none", 1);

	struct tracing tracing = tool_start(tool, &target, no_options);

	unsetenv("MEMTRACE_CACHE");
	child_kill(&tracing.child);
	target_stop(&target);
	return tracing.all_probes_ms;
}

static void measure(enum tool tool, double figures[FIGURES])
{
	static const char *const options[] = {"--top", "0", "--format", "json", NULL};
	struct target target = target_start();
	struct tracing tracing = tool_start(tool, &target, options);

	figures[START] = tracing.all_probes_ms;
	target_pairs(&target, PAIRS / 20, PAIRS_DEPTH);
	figures[PAIR] = target_pairs(&target, PAIRS, PAIRS_DEPTH);
	target_fill(&target, BLOCKS, STACKS);
	sleep_ms(AGE_MS);
	figures[FIRST] = report_ms(&tracing);
	figures[SECOND] = report_ms(&tracing);
	child_kill(&tracing.child);
	target_stop(&target);
	figures[ANEW] = anew_ms(tool);
}

/* The KiB that the program's file has to map: code and data without debug information. */
static double loaded_kib(enum tool tool)
{
	const char *path = tool_program(tool);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf64_Ehdr header;
	double bytes = 0;

	if (fd < 0 || pread(fd, &header, sizeof(header), 0) != sizeof(header))
		die("cannot read %s", path);
	for (unsigned i = 0; i < header.e_phnum; i++) {
		Elf64_Phdr segment;

		if (pread(fd, &segment, sizeof(segment),
			  (off_t)(header.e_phoff + i * sizeof(segment))) !=
		    sizeof(segment))
			die("cannot read %s", path);
		if (segment.p_type == PT_LOAD)
			bytes += (double)segment.p_filesz;
	}
	close(fd);
	return bytes / 1024;
}

void section_before(void)
{
	double now[FIGURES][RUNS], before[FIGURES][RUNS], difference[FIGURES][RUNS];

	if (!tool_has_before()) {
		printf("\n" TOOL_BEFORE_VARIABLE " names no other memtrace\n");
		return;
	}
	for (unsigned run = 0; run < RUNS; run++) {
		double a[FIGURES], b[FIGURES];

		/* By turns, because the machine's speed drifts. */
		measure(TOOL_MEMTRACE, a);
		measure(TOOL_BEFORE, b);
		for (unsigned i = 0; i < FIGURES; i++) {
			now[i][run] = a[i];
			before[i][run] = b[i];
			difference[i][run] = a[i] - b[i];
		}
	}
	printf("\nBeside another memtrace, medians of %d runs in turns\n"
	       "%-46s %10s %10s %10s %8s\n",
	       RUNS, "", "this", "other", "difference", "ratio");
	for (unsigned i = 0; i < FIGURES; i++) {
		double a = median(now[i], RUNS), b = median(before[i], RUNS);

		printf("%-46s %10.1f %10.1f %10.1f %8.2f\n", names[i], a, b,
		       median(difference[i], RUNS), a / b);
	}

	double kib = loaded_kib(TOOL_MEMTRACE), other_kib = loaded_kib(TOOL_BEFORE);

	printf("%-46s %10.1f %10.1f %10.1f %8.2f\n", "code and data of the program, KiB",
	       kib, other_kib, kib - other_kib, kib / other_kib);
}
