/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that ThreadSanitizer cannot run. They say so, and ctest lists them as skipped. */
#ifndef TESTS_UNDER_TSAN_H
#define TESTS_UNDER_TSAN_H

#include "check.h"

#if defined(__SANITIZE_THREAD__)
#define IS_UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define IS_UNDER_TSAN 1
#endif
#endif
#ifndef IS_UNDER_TSAN
#define IS_UNDER_TSAN 0
#endif

/* Skips the program in a build with ThreadSanitizer. */
static inline void check_not_under_tsan(const char *why)
{
	if (IS_UNDER_TSAN)
		check_leave_out(why);
}

#endif
