// SPDX-License-Identifier: Apache-2.0
/*
 * The target must not notice memtrace: exceptions thrown through allocation functions,
 * backtraces inside them, and a program whose seccomp filter permits few system calls.
 */
#include "check.h"
#include "live/preload.h"
#include "live/trace.h"
#include "live/unnoticed.h"

#ifdef THROWER_BINARY
/* Debian's mimalloc is built as C: its operator new aborts instead of throwing. */
#define DOES_NOT_THROW "mimalloc"

static void exceptions_of_operator_new(void)
{
	unnoticed_check_each(THROWER_BINARY, "catch", DOES_NOT_THROW);
}

static void exceptions_of_an_own_operator_new(void)
{
	unnoticed_check_each(THROWER_BINARY, "own", NULL);
}

/* memtrace does not understand such an operator, so it probes only malloc. */
static void an_operator_new_that_jumps_by_a_pointer(void)
{
	const char *const argv[] = {THROWER_BINARY, "catch", NULL};
	struct live_process *target = preload_start(WRAPPED_NEW, argv), *memtrace;
	json_t *ready = live_read_json(target, 30), *report;
	char *line;

	REQUIRE(ready);
	memtrace = memtrace_start(live_pid(target), "--unwind auto");
	CHECK(strstr(live_stderr(memtrace), "_Znwm"));
	live_send(target, "go");
	line = live_read_line(target, 60);
	CHECK_STR(line, "caught 1000, unwound 1000");
	report = memtrace_stop(memtrace);
	CHECK(live_int(report, "heap.totals.allocations") >= 100);
	CHECK_INT(live_wait(target, 30), 0);
	json_decref(ready);
	json_decref(report);
	free(line);
	live_destroy(target);
}

static void a_new_handler_that_throws(void)
{
	unnoticed_check_each(THROWER_BINARY, "handler", DOES_NOT_THROW);
}

static void a_new_handler_that_ends_its_thread(void)
{
	unnoticed_check_each(THROWER_BINARY, "exit", DOES_NOT_THROW);
}

static void a_new_handler_that_switches_stacks(void)
{
	unnoticed_check_each(THROWER_BINARY, "coroutines", DOES_NOT_THROW);
}
#endif

static void backtraces_inside_allocation_functions(void)
{
	unnoticed_check_each(BACKTRACER_BINARY, "backtraces", NULL);
}

/* Only with libc: other allocators make other system calls. */
static void a_seccomp_filter(void)
{
	unnoticed_check(
		&(struct unnoticed){CONFINED_BINARY, "confined", "libc.so.6", false});
	/* The filter kills the program. */
	unnoticed_check(
		&(struct unnoticed){CONFINED_BINARY, "forbidden", "libc.so.6", true});
}

int main(void)
{
	live_require_root();
#ifdef THROWER_BINARY
	RUN(exceptions_of_operator_new);
	RUN(exceptions_of_an_own_operator_new);
	RUN(an_operator_new_that_jumps_by_a_pointer);
	RUN(a_new_handler_that_throws);
	RUN(a_new_handler_that_ends_its_thread);
	RUN(a_new_handler_that_switches_stacks);
#else
	CHECK_SKIP_PART("no C++ compiler");
#endif
	RUN(backtraces_inside_allocation_functions);
	RUN(a_seccomp_filter);
	return check_done();
}
