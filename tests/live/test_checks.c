// SPDX-License-Identifier: Apache-2.0
/*
 * Sites inside functions are compared with what the functions return: right ones are said
 * to be, and wrong ones are given up.
 */
#include <string.h>

#include "check.h"
#include "live/family.h"

#define TIMEOUT_S 30
#define KEPT      600 /* blocks of 30 bytes, of malloc, calloc and valloc */

static int64_t live_blocks(struct live_process *memtrace, int64_t *unknown)
{
	json_t *report = memtrace_report(memtrace);
	int64_t blocks = live_int(report, "heap.live_blocks");

	*unknown = live_int(report, "heap.totals.frees_unknown");
	json_decref(report);
	return blocks;
}

static void wait_for(struct live_process *memtrace, const char *text)
{
	if (live_wait_stderr(memtrace, text, TIMEOUT_S))
		return;
	fprintf(stderr, "%s: not in:\n%s\n", text, live_stderr(memtrace));
	CHECK(false);
}

/* From the moment on that it is noticed all is exact. */
static void check_patched(const char *options)
{
	struct live_process *target = target_start(PATCHED_BINARY);
	struct live_process *memtrace = memtrace_start(live_pid(target), options);
	int64_t before, kept, after, unknown[3];

	oracle_do(target, "patch");
	wait_for(memtrace, "warning: memtrace misread malloc in ");
	wait_for(memtrace, "warning: memtrace misread calloc in ");
	wait_for(memtrace, "warning: memtrace misread valloc in ");
	CHECK(strstr(live_stderr(memtrace), "returned another result than expected"));
	before = live_blocks(memtrace, &unknown[0]);
	oracle_do(target, "keep");
	kept = live_blocks(memtrace, &unknown[1]);
	CHECK_INT(kept - before, KEPT);
	CHECK_INT(unknown[1] - unknown[0], 0);
	oracle_do(target, "free");
	after = live_blocks(memtrace, &unknown[2]);
	CHECK_INT(after - before, 0);
	CHECK_INT(unknown[2] - unknown[0], 0);
	json_decref(memtrace_stop(memtrace));
	live_destroy(target);
}

static void a_function_that_is_patched(void)
{
	check_patched("");
	check_patched("--traffic");
}

/* Does memtrace notice the patch, or has the check ended before? */
static bool notices_late_patch(void)
{
	const char *const argv[] = {PATCHED_BINARY, "late", NULL};
	struct live_process *target = live_start(argv), *memtrace;
	bool is_noticed;

	json_decref(live_read_json(target, TIMEOUT_S));
	memtrace = memtrace_start(live_pid(target), "-v");
	oracle_do(target, "patch");
	/* The verdict is one or the other. */
	wait_for(memtrace, "malloc in ");
	is_noticed =
		live_wait_stderr(memtrace, "warning: memtrace misread malloc in ", 2);
	json_decref(memtrace_stop(memtrace));
	live_destroy(target);
	return is_noticed;
}

/* The first calls were right. On a busy machine the time of the check may be over before
 * there are others: so it is tried again. */
static void a_function_that_is_patched_late(void)
{
	bool is_noticed = false;

	for (int i = 0; i < 5 && !is_noticed; i++)
		is_noticed = notices_late_patch();
	CHECK(is_noticed);
}

/* Probes that others would feel as well are not put there for the sake of one process. */
static void a_patched_function_that_others_have(void)
{
	struct live_process *target = target_start(PATCHED_BINARY);
	struct live_process *memtrace =
		memtrace_start(live_pid(target), "--follow-forks");

	oracle_do(target, "patch");
	wait_for(memtrace, "warning: memtrace misread malloc in ");
	CHECK(strstr(live_stderr(memtrace), "Its numbers may be wrong"));
	json_decref(memtrace_stop(memtrace));
	live_destroy(target);
}

/* libc's functions are what they seem. */
static void right_sites_are_said_to_be(void)
{
	struct live_process *target = family_start(NULL);
	struct live_process *memtrace = memtrace_start(live_pid(target), "-v");

	for (int i = 0; i < 100; i++) {
		oracle_do(target, "keep 1 24");
		live_sleep(0.005);
	}
	wait_for(memtrace, "memtrace: malloc in ");
	wait_for(memtrace, ": the probes were right for ");
	CHECK(!strstr(live_stderr(memtrace), "warning"));
	json_decref(memtrace_stop(memtrace));
	live_destroy(target);
}

int main(void)
{
	struct probes *before;

	live_require_root();
	before = probes_find();
	RUN(a_function_that_is_patched);
	RUN(a_function_that_is_patched_late);
	RUN(a_patched_function_that_others_have);
	RUN(right_sites_are_said_to_be);
	CHECK(probes_gone(before));
	probes_destroy(before);
	return check_done();
}
