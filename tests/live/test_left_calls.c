// SPDX-License-Identifier: Apache-2.0
/* Calls and stacks that are left in unusual ways: the target must not notice memtrace,
 * and each block must be counted. */
#include "check.h"
#include "live/trace.h"
#include "live/unnoticed.h"

/* Only with libc: other allocators hold a lock while they call mmap(). */
static void jumps_out_of_allocation_functions(void)
{
	unnoticed_check(
		&(struct unnoticed){TROUBLED_BINARY, "jumps", "libc.so.6", false});
}

static void a_handler_that_allocates(void)
{
	unnoticed_check_each(TROUBLED_BINARY, "handler", NULL);
}

static void threads_that_are_cancelled(void)
{
	unnoticed_check_each(TROUBLED_BINARY, "cancel", NULL);
}

static void coroutines(void)
{
	unnoticed_check_each(TROUBLED_BINARY, "coroutines", NULL);
}

int main(void)
{
	live_require_root();
	RUN(jumps_out_of_allocation_functions);
	RUN(a_handler_that_allocates);
	RUN(threads_that_are_cancelled);
	RUN(coroutines);
	return check_done();
}
