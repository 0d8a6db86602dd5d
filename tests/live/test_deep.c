// SPDX-License-Identifier: Apache-2.0
/* Recursions of more frames than a stack keeps. The stack has both ends, with a mark
 * between them, at every depth. Also frames of megabytes. */
#include <inttypes.h>
#include <string.h>

#include "check.h"
#include "live/trace.h"

/* As in targets/deep.c. */
#define TIMES   40 /* how many depths of a recursion */
#define THREADS 8

#define MARK    "[frames left out: deep recursion]"

/* Traces a target that runs `scenarios` (the last is NULL). Returns the report. */
static json_t *trace_deep(const char *options, const char *const scenarios[])
{
	const char *const argv[] = {DEEP_BINARY, NULL};
	struct live_process *target = live_start(argv), *memtrace;
	json_t *ready = live_read_json(target, 30), *report;

	REQUIRE(ready);
	memtrace = memtrace_start(live_pid(target), options);
	for (; *scenarios; scenarios++) {
		live_send(target, "%s", *scenarios);
		json_decref(live_read_json(target, 60));
	}
	report = memtrace_stop(memtrace);
	json_decref(ready);
	live_destroy(target);
	return report;
}

/* Sums of the rows whose blocks have this size, which identifies the scenario. */
struct rows {
	int64_t blocks, rows, complete, deep, with_root;
};

static struct rows rows_of(const json_t *report, int64_t block_bytes, const char *root)
{
	struct rows found = {0};
	const json_t *row;
	size_t i;

	json_array_foreach (live_get(report, "heap.stacks"), i, row) {
		const char *end = json_string_value(json_object_get(row, "end"));
		int64_t n = live_int(row, "blocks");

		if (live_int(row, "size_bytes") != block_bytes * n)
			continue;
		found.blocks += n;
		found.rows++;
		found.complete += end && !strcmp(end, "complete");
		found.deep += row_has_symbol(row, MARK);
		found.with_root += row_has_symbol(row, root);
	}
	return found;
}

static void check_recursion(const char *options, const char *const scenarios[],
			    int64_t block_bytes, const char *root, int64_t blocks)
{
	json_t *report = trace_deep(options, scenarios);
	struct rows rows = rows_of(report, block_bytes, root);

	/* One of two functions calls the leaf, so there are two rows. */
	CHECK_INT(rows.rows, 2);
	CHECK_INT(rows.blocks, blocks);
	CHECK_INT(rows.complete, 2);
	CHECK_INT(rows.deep, 2);
	CHECK_INT(rows.with_root, 2);
	CHECK_INT(compare_losses(report, NULL), 0);
	json_decref(report);
}

static const char *const recursions[] = {"recursion 1000", "recursion 2000", NULL};

static void recursion(void)
{
	check_recursion("--no-lines", recursions, 4001, "scenario_recursion", 2 * TIMES);
}

static void recursion_with_traffic(void)
{
	check_recursion("--no-lines --traffic", recursions, 4001, "scenario_recursion",
			2 * TIMES);
}

/* Eight threads, whose stacks are unwound at the same time. */
static void recursion_in_threads(void)
{
	static const char *const scenarios[] = {"recursion_threads 1000",
						"recursion_threads 2000", NULL};

	check_recursion("--no-lines", scenarios, 4003, "recursion_main",
			2 * THREADS * TIMES);
}

/* Unwinding stops at a limit. The stack then has the innermost frames. */
static void beyond_the_limit(void)
{
	static const char *const scenarios[] = {"recursion 20000", NULL};
	json_t *report = trace_deep("--no-lines", scenarios);
	struct rows rows = rows_of(report, 4001, "leaf_allocates");

	CHECK_INT(rows.blocks, TIMES);
	CHECK_INT(rows.rows, 2);
	CHECK_INT(rows.complete, 0);
	CHECK_INT(rows.deep, 0);
	CHECK_INT(rows.with_root, 2);
	CHECK_INT(live_int(report, "losses.stacks_truncated"), 2);
	json_decref(report);
}

/* Frames of 64 KiB, 1 MiB and, in a thread, 7 MiB, from the first call on. */
static void wide_frames(void)
{
	static const char *const scenarios[] = {"wide 20", "wide_thread 20", NULL};
	json_t *report = trace_deep("--no-lines", scenarios);
	struct rows rows = rows_of(report, 4002, "wide_1m");

	CHECK_INT(rows.blocks, 40);
	CHECK_INT(rows.rows, 2);
	CHECK_INT(rows.complete, 2);
	CHECK_INT(rows.with_root, 2);
	CHECK_INT(compare_losses(report, NULL), 0);
	json_decref(report);
}

/* The first stack goes to memtrace as a copy. It is whole if it is smaller than 256 KiB.
 */
static void first_call_in_wide_frames(void)
{
	static const char *const scenarios[] = {"half_wide 1", "half_wide_threads 3",
						NULL};
	json_t *report = trace_deep("--no-lines", scenarios);
	struct rows rows = rows_of(report, 4004, "scenario_half_wide");

	CHECK_INT(rows.blocks, 1 + 3 * THREADS);
	CHECK_INT(rows.rows, 2);
	CHECK_INT(rows.complete, 2);
	CHECK_INT(rows.with_root, 2);
	CHECK_INT(compare_losses(report, NULL), 0);
	json_decref(report);
}

/* memtrace makes a library's unwind table when it is mapped. Without the table, the copy
 * of the stack for the miss handler would not reach the root here. */
static void first_call_of_a_library(void)
{
	static const char *const scenarios[] = {"library 500", NULL};
	json_t *report = trace_deep("--no-lines", scenarios);
	struct rows rows = rows_of(report, 2001, "scenario_library");

	CHECK_INT(rows.blocks, 1);
	CHECK_INT(rows.complete, 1);
	CHECK_INT(rows.with_root, 1);
	CHECK_INT(compare_losses(report, NULL), 0);
	json_decref(report);
}

int main(void)
{
	live_require_root();
	RUN(recursion);
	RUN(recursion_with_traffic);
	RUN(recursion_in_threads);
	RUN(beyond_the_limit);
	RUN(wide_frames);
	RUN(first_call_in_wide_frames);
	RUN(first_call_of_a_library);
	return check_done();
}
