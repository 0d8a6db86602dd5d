// SPDX-License-Identifier: Apache-2.0
/*
 * The target never notices: exceptions thrown through allocation functions, backtraces
 * taken inside them, and a program that must not make a system call of its own choice.
 */
#include "check.h"
#include "live/trace.h"
#include "live/unnoticed.h"

static void with_each_allocator(const char *program, const char *work)
{
	for (const char *const *name = unnoticed_allocators; *name; name++)
		unnoticed_check(&(struct unnoticed){program, work, *name, false});
}

#ifdef THROWER_BINARY
/* Debian's mimalloc is built as C: its operator new aborts where it should throw. */
static void with_allocators_that_throw(const char *program, const char *work)
{
	for (const char *const *name = unnoticed_allocators; *name; name++)
		unnoticed_check(&(struct unnoticed){program, work, *name,
						    strstr(*name, "mimalloc") != NULL});
}

static void exceptions_of_operator_new(void)
{
	with_allocators_that_throw(THROWER_BINARY, "catch");
}

static void exceptions_of_an_own_operator_new(void)
{
	with_each_allocator(THROWER_BINARY, "own");
}

static void a_new_handler_that_throws(void)
{
	with_allocators_that_throw(THROWER_BINARY, "handler");
}

static void a_new_handler_that_ends_its_thread(void)
{
	with_allocators_that_throw(THROWER_BINARY, "exit");
}

static void a_new_handler_that_switches_stacks(void)
{
	with_allocators_that_throw(THROWER_BINARY, "coroutines");
}
#endif

static void backtraces_inside_allocation_functions(void)
{
	with_each_allocator(BACKTRACER_BINARY, "backtraces");
}

/* Other allocators make other system calls. */
static void a_seccomp_filter(void)
{
	unnoticed_check(
		&(struct unnoticed){CONFINED_BINARY, "confined", "libc.so.6", false});
	/* It would be killed. */
	unnoticed_check(
		&(struct unnoticed){CONFINED_BINARY, "forbidden", "libc.so.6", true});
}

int main(void)
{
	live_require_root();
#ifdef THROWER_BINARY
	RUN(exceptions_of_operator_new);
	RUN(exceptions_of_an_own_operator_new);
	RUN(a_new_handler_that_throws);
	RUN(a_new_handler_that_ends_its_thread);
	RUN(a_new_handler_that_switches_stacks);
#else
	printf("  note: no C++ compiler here\n");
#endif
	RUN(backtraces_inside_allocation_functions);
	RUN(a_seccomp_filter);
	return check_done();
}
