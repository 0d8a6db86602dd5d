// SPDX-License-Identifier: Apache-2.0
/*
 * Stacks come while the tables of stacks lack parts, and the thread that adds parts gets
 * no processor time. The probes send such stacks to the miss handler, which adds the
 * parts: no block is without its stack.
 */
#include "check.h"
#include "live/paths.h"
#include "live/threads.h"
#include "live/trace.h"

/* The thread of drain/table_grower.c. */
#define GROWER "memtrace-grow"

/* More than the first parts of the tables have room for (compile/source_sizes.c). */
#define PATHS   12000
#define THREADS 8

static void trace_new_paths(const char *options, int paths, int threads)
{
	struct live_process *oracle = oracle_start();
	struct live_process *memtrace = memtrace_start(live_pid(oracle), options);
	pid_t grower = thread_stop(live_pid(memtrace), GROWER);
	json_t *truth, *report;

	/* All threads start with the first path. */
	oracle_do(oracle, "run paths %d %d", paths * threads, threads);
	report = memtrace_report(memtrace);
	truth = oracle_ask(oracle, "truth");
	thread_continue(grower);
	paths_check(report, paths, threads);
	CHECK_INT(compare_heap(truth, report, true), 0);
	CHECK_INT(compare_totals(truth, report), 0);
	json_decref(report);
	json_decref(truth);
	paths_stop(oracle, memtrace);
}

static void no_stack_is_lost(void)
{
	trace_new_paths("", PATHS, 1);
}

static void no_stack_is_lost_that_is_new_to_eight_threads(void)
{
	trace_new_paths("", PATHS, THREADS);
}

static void no_stack_is_lost_without_atomics(void)
{
	trace_new_paths("--tables hashes", PATHS, THREADS);
}

/* As many stacks as there may be: the others are counted, each once. */
static void stacks_above_the_limit_are_counted(void)
{
	const int64_t limit = 10000, paths = 15000;
	struct live_process *oracle = oracle_start();
	struct live_process *memtrace =
		memtrace_start(live_pid(oracle), "--max-stacks 10000");
	pid_t grower = thread_stop(live_pid(memtrace), GROWER);
	int64_t without = 0;
	json_t *report, *row;
	size_t i;

	oracle_do(oracle, "run paths %d 1", (int)paths);
	report = memtrace_report(memtrace);
	thread_continue(grower);
	json_array_foreach (live_get(report, "heap.stacks"), i, row)
		if (json_is_null(live_get(row, "stack")))
			without += live_int(row, "blocks");
	printf("%d of %d blocks without a stack\n", (int)without, (int)paths);
	/* A few numbers may be used up without a stack. */
	CHECK(without >= paths - limit && without < paths - limit + 100);
	CHECK_INT(live_int(report, "heap.live_blocks"), paths);
	CHECK_INT(live_int(report, "losses.stacks_full"), without);
	CHECK_INT(compare_losses(report, "stacks_full"), 0);
	json_decref(report);
	paths_stop(oracle, memtrace);
}

int main(void)
{
	live_require_root();
	RUN(no_stack_is_lost);
	RUN(no_stack_is_lost_that_is_new_to_eight_threads);
	RUN(no_stack_is_lost_without_atomics);
	RUN(stacks_above_the_limit_are_counted);
	return check_done();
}
