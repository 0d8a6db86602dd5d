// SPDX-License-Identifier: Apache-2.0
/*
 * What memtrace says about runtimes: at the start that the runtime has its own heap, and
 * once, if a report has frames in generated code, what would give them symbols. The
 * stand-ins have the features that memtrace recognizes the runtimes by.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "live/trace.h"

#define HEAP   "not counted here; --growth shows all memory that grows"
#define ADVICE "frames in code that it has made itself have no names"

/* `said`: what it must say about the heap, or NULL. `advice`: what it must say about
 * frames, or NULL. */
static void check_target(struct live_process *target, const char *said,
			 const char *advice, const char *options)
{
	struct live_process *memtrace = memtrace_start(live_pid(target), options);
	unsigned lines = advice ? 1 : 0;

	CHECK_INT(live_count(live_stderr(memtrace), HEAP), said ? 1 : 0);
	if (said)
		CHECK_CONTAINS(live_stderr(memtrace), said);
	CHECK_INT(live_count(live_stderr(memtrace), ADVICE), 0);
	oracle_do(target, "keep 10");
	for (int i = 0; i < 2; i++) {
		json_decref(memtrace_report(memtrace));
		CHECK_INT(live_count(live_stderr(memtrace), ADVICE), lines);
	}
	if (advice)
		CHECK_CONTAINS(live_stderr(memtrace), advice);
	json_decref(memtrace_stop(memtrace));
	live_destroy(target);
}

static void java(void)
{
	check_target(target_start_with(LIBJVM_STUB, JIT_MAKER_BINARY), "Java objects",
		     "-XX:+PreserveFramePointer", "");
}

/* memtrace recognizes Go by a section of the executable. */
static void go(void)
{
	check_target(target_start(GO_LIKE_BINARY), "Go objects", NULL, "");
}

static void no_runtime(void)
{
	check_target(target_start(JIT_MAKER_BINARY), NULL, NULL, "");
}

int main(void)
{
	live_require_root();
	RUN(java);
	RUN(go);
	RUN(no_runtime);
	return check_done();
}
