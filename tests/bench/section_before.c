// SPDX-License-Identifier: Apache-2.0
/* The start, and a report with source lines, compared with another memtrace in one
 * run. */
#include "bench.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "tool.h"

#define RUNS             9
#define ROWS             4
#define STACKS           1000
#define BLOCKS           10000
#define AGE_MS           1000
#define QUIET_MS         500
#define REPORT_TIMEOUT_S 60

struct figures {
	double anew_ms;   /* exec to tracing, without a cache */
	double start_ms;  /* exec to tracing, after other runs */
	double first_ms;  /* first report, which reads debug information */
	double report_ms; /* second report */
	double length_mb; /* length of the second report */
};

static double report_ms(struct tracing *tracing, double *length_mb)
{
	uint64_t start_ns = now_ns();

	kill(tracing->child.pid, SIGUSR1);

	struct text text = child_read_burst(&tracing->child, REPORT_TIMEOUT_S, QUIET_MS);
	double ms = (double)(text.last_ns - start_ns) / 1e6;

	*length_mb = (double)text.len / 1e6;
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

static struct figures measure(enum tool tool)
{
	static const char *const options[] = {"--top", "0", "--format", "json", NULL};
	struct target target = target_start();
	struct tracing tracing = tool_start(tool, &target, options);
	struct figures f = {.start_ms = tracing.all_probes_ms};

	target_fill(&target, BLOCKS, STACKS);
	sleep_ms(AGE_MS);
	f.first_ms = report_ms(&tracing, &f.length_mb);
	f.report_ms = report_ms(&tracing, &f.length_mb);
	child_kill(&tracing.child);
	target_stop(&target);
	f.anew_ms = anew_ms(tool);
	return f;
}

static void print_row(const char *name, double now[], double before[],
		      double difference[])
{
	double now_median = median(now, RUNS), before_median = median(before, RUNS);

	printf("%-46s %10.1f %10.1f %10.1f %8.2f\n", name, now_median, before_median,
	       median(difference, RUNS), now_median / before_median);
}

void section_before(void)
{
	double now[ROWS][RUNS], before[ROWS][RUNS], difference[ROWS][RUNS];

	if (!tool_has_before()) {
		printf("\n" TOOL_BEFORE_VARIABLE " names no other memtrace\n");
		return;
	}
	for (unsigned run = 0; run < RUNS; run++) {
		/* By turns, because the machine's speed drifts. */
		const struct figures a = measure(TOOL_MEMTRACE), b = measure(TOOL_BEFORE);

		now[0][run] = a.start_ms;
		now[1][run] = a.first_ms;
		now[2][run] = a.report_ms;
		now[3][run] = a.anew_ms;
		before[3][run] = b.anew_ms;
		before[0][run] = b.start_ms;
		before[1][run] = b.first_ms;
		before[2][run] = b.report_ms;
		for (unsigned i = 0; i < ROWS; i++)
			difference[i][run] = now[i][run] - before[i][run];
	}
	printf("\nBeside another memtrace, ms, medians of %d runs in turns\n"
	       "%-46s %10s %10s %10s %8s\n",
	       RUNS, "", "this", "other", "difference", "ratio");
	print_row("exec to tracing", now[0], before[0], difference[0]);
	print_row("the same, when nothing is kept", now[3], before[3], difference[3]);
	print_row("first report of 1,000 stacks with lines", now[1], before[1],
		  difference[1]);
	print_row("second report of them", now[2], before[2], difference[2]);
}
