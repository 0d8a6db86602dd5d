// SPDX-License-Identifier: Apache-2.0
/*
 * memtrace compares the results that it reads inside a function with what the function
 * returns. It confirms right sites and stops using wrong ones.
 */
#include <string.h>

#include "check.h"
#include "live/family.h"

#define TIMEOUT_S 30
#define KEPT      600 /* blocks of 30 bytes from malloc, calloc and valloc */

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

/* The report counts at least so many functions that memtrace has misread. Takes ownership
 * of the report. */
static void check_misread(json_t *report, int64_t least)
{
	CHECK(live_int(report, "losses.functions_misread") >= least);
	CHECK(!json_is_true(live_get(report, "complete")));
	json_decref(report);
}

/* From the moment that memtrace notices the patch, all counts are exact. */
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
	check_misread(memtrace_stop(memtrace), 3);
	live_destroy(target);
}

static void a_function_that_is_patched(void)
{
	check_patched("");
	check_patched("--traffic");
}

/* Does memtrace notice the patch? If the check has already ended, it does not. */
static bool notices_late_patch(void)
{
	const char *const argv[] = {PATCHED_BINARY, "late", NULL};
	struct live_process *target = live_start(argv), *memtrace;
	bool is_noticed;

	json_decref(live_read_json(target, TIMEOUT_S));
	memtrace = memtrace_start(live_pid(target), "-v");
	oracle_do(target, "patch");
	/* Either the sites are confirmed or they are wrong. */
	wait_for(memtrace, "malloc in ");
	is_noticed =
		live_wait_stderr(memtrace, "warning: memtrace misread malloc in ", 2);
	json_decref(memtrace_stop(memtrace));
	live_destroy(target);
	return is_noticed;
}

/* The first calls agree, the later ones do not. On a busy machine the check may end
 * before the later calls, so the test tries several times. */
static void a_function_that_is_patched_late(void)
{
	bool is_noticed = false;

	for (int i = 0; i < 5 && !is_noticed; i++)
		is_noticed = notices_late_patch();
	CHECK(is_noticed);
}

/* With --follow-forks the breakpoints at each `ret` would be in all processes. memtrace
 * only warns. */
static void a_patched_function_that_others_have(void)
{
	struct live_process *target = target_start(PATCHED_BINARY);
	struct live_process *memtrace =
		memtrace_start(live_pid(target), "--follow-forks");

	oracle_do(target, "patch");
	wait_for(memtrace, "warning: memtrace misread malloc in ");
	CHECK(strstr(live_stderr(memtrace), "Its numbers may be wrong"));
	check_misread(memtrace_stop(memtrace), 1);
	live_destroy(target);
}

/* libc is not patched: memtrace confirms its sites. */
static void right_sites_are_said_to_be(void)
{
	struct live_process *target = family_start(NULL);
	struct live_process *memtrace = memtrace_start(live_pid(target), "-v");
	json_t *report;

	for (int i = 0; i < 100; i++) {
		oracle_do(target, "keep 1 24");
		live_sleep(0.005);
	}
	wait_for(memtrace, "memtrace: malloc in ");
	wait_for(memtrace, ": the probes were right for ");
	CHECK(!strstr(live_stderr(memtrace), "warning"));
	report = memtrace_stop(memtrace);
	CHECK_INT(live_int(report, "losses.functions_misread"), 0);
	json_decref(report);
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
