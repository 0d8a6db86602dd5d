/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole test framework: checks that print what failed and where, and a counter of
 * failures, which determines the exit status. A test program is a list of static
 * functions and
 *
 *    int main(void)
 *    {
 *            RUN(units_parse);
 *            return check_done();
 *    }
 *
 * Exit status 77 (check_skip()) means that the test cannot run on this machine. ctest
 * counts it as skipped.
 */
#ifndef TESTS_CHECK_H
#define TESTS_CHECK_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct check_state {
	unsigned checks, failures;
};

/* Shared by all files of a test program. */
__attribute__((weak)) struct check_state check_state;

#define CHECK_FAIL(...)                                                                  \
	do {                                                                             \
		fprintf(stderr, "%s:%d: ", __FILE__, __LINE__);                          \
		fprintf(stderr, __VA_ARGS__);                                            \
		fputc('\n', stderr);                                                     \
		check_state.failures++;                                                  \
	} while (0)

#define CHECK(cond)                                                                      \
	do {                                                                             \
		check_state.checks++;                                                    \
		if (!(cond))                                                             \
			CHECK_FAIL("not true: %s", #cond);                               \
	} while (0)

#define CHECK_INT(got, want)                                                             \
	do {                                                                             \
		check_state.checks++;                                                    \
		long long got_ = (long long)(got), want_ = (long long)(want);            \
		if (got_ != want_)                                                       \
			CHECK_FAIL("%s is %lld, expected %lld", #got, got_, want_);      \
	} while (0)

#define CHECK_STR(got, want)                                                             \
	do {                                                                             \
		check_state.checks++;                                                    \
		const char *got_ = (got), *want_ = (want);                               \
		if (!got_ || strcmp(got_, want_))                                        \
			CHECK_FAIL("%s is \"%s\", expected \"%s\"", #got,                \
				   got_ ? got_ : "(null)", want_);                       \
	} while (0)

/* Checks that `haystack` contains `needle`. */
#define CHECK_CONTAINS(haystack, needle)                                                 \
	do {                                                                             \
		check_state.checks++;                                                    \
		const char *hay_ = (haystack), *needle_ = (needle);                      \
		if (!hay_ || !strstr(hay_, needle_))                                     \
			CHECK_FAIL("\"%s\" is not in: %s", needle_,                      \
				   hay_ ? hay_ : "(null)");                              \
	} while (0)

/* Ends the program if `cond` is false. For conditions without which the test cannot go
 * on. */
#define REQUIRE(cond)                                                                    \
	do {                                                                             \
		check_state.checks++;                                                    \
		if (!(cond)) {                                                           \
			CHECK_FAIL("required: %s", #cond);                               \
			exit(1);                                                         \
		}                                                                        \
	} while (0)

static inline double check_now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* A library of tests may define this: called after each test of RUN. */
void check_after_test(const char *test) __attribute__((weak));

#define RUN(test)                                                                        \
	do {                                                                             \
		unsigned before_ = check_state.failures;                                 \
		double since_s_ = check_now_s();                                         \
		test();                                                                  \
		if (check_after_test)                                                    \
			check_after_test(#test);                                         \
		printf("%s %s (%.1f s)\n",                                               \
		       check_state.failures == before_ ? "ok  " : "FAIL", #test,         \
		       check_now_s() - since_s_);                                        \
		fflush(stdout);                                                          \
	} while (0)

static inline int check_done(void)
{
	printf("%u checks, %u failures\n", check_state.checks, check_state.failures);
	/* A test program without any check fails. */
	return check_state.failures || !check_state.checks ? 1 : 0;
}

/* Skips the program: a package or a privilege is missing on this machine. If
 * MEMTRACE_TEST_ALL is set (by scripts/test), everything should be there, and this is a
 * failure. */
static inline void check_skip(const char *why)
{
	printf("SKIPPED: %s\n", why);
	exit(getenv("MEMTRACE_TEST_ALL") ? 1 : 77);
}

/* Skips the program: it needs packages of other releases, which are not available
 * here. */
static inline void check_leave_out(const char *why)
{
	printf("SKIPPED: %s\n", why);
	exit(77);
}

/* Skips a part of a test that cannot run on this machine. Like check_skip(), this is a
 * failure if MEMTRACE_TEST_ALL is set. The arguments are as for printf(3), with a literal
 * format. */
#define CHECK_SKIP_PART(...)                                                             \
	do {                                                                             \
		check_say_part("SKIPPED", __VA_ARGS__);                                  \
		if (getenv("MEMTRACE_TEST_ALL"))                                         \
			CHECK_FAIL("a part was skipped: " __VA_ARGS__);                  \
	} while (0)

/* Skips a part of a test that does not apply to this kernel. A failure if
 * MEMTRACE_TEST_ALL is set, but not MEMTRACE_TEST_ANY_KERNEL. */
#define CHECK_NOT_FOR_KERNEL(...)                                                        \
	do {                                                                             \
		check_say_part("NOT FOR THIS KERNEL", __VA_ARGS__);                      \
		if (getenv("MEMTRACE_TEST_ALL") && !getenv("MEMTRACE_TEST_ANY_KERNEL"))  \
			CHECK_FAIL("not for this kernel: " __VA_ARGS__);                 \
	} while (0)

/* Skips a part of a test, like check_leave_out(). */
#define CHECK_LEAVE_OUT_PART(...) check_say_part("LEFT OUT", __VA_ARGS__)

__attribute__((format(printf, 2, 3))) static inline void
check_say_part(const char *kind, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	printf("  %s: ", kind);
	vprintf(format, args);
	putchar('\n');
	va_end(args);
}

/* Processor time of the test so far, seconds. A busy machine does not increase it. */
static inline double check_cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

#endif
