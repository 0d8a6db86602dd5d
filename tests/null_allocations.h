/* SPDX-License-Identifier: Apache-2.0 */
/* With sanitizers, too, an impossible allocation returns NULL. */
#ifndef TESTS_NULL_ALLOCATIONS_H
#define TESTS_NULL_ALLOCATIONS_H

/* The sanitizers call these before main(). */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
	return "allocator_may_return_null=1";
}

#endif
