/* SPDX-License-Identifier: Apache-2.0 */
/* Several processes in one run: start memtrace for them, start programs that follow
 * commands (targets/family.c), and find the rows of each process in a report. */
#ifndef TESTS_LIVE_FAMILY_H
#define TESTS_LIVE_FAMILY_H

#include "live/trace.h"

/* Start memtrace with the options in `format`, separated by blanks. It reports in JSON,
 * lists all rows and reports only on request. */
struct live_process *memtrace_by_path(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

/* memtrace_by_path() with separate rows for each process. The format must be a
 * literal. */
#define memtrace_with(...) memtrace_by_path("--group-by process " __VA_ARGS__)

/* Wait until memtrace's probes are attached. */
void memtrace_await(struct live_process *memtrace);

/* Wait until memtrace ends by itself. Returns its final report, owned, and checks its
 * exit status. Destroys `memtrace`. */
json_t *memtrace_end(struct live_process *memtrace, int want_status);

/* Start the target and wait until it is ready. `arguments` end with NULL, or are NULL. */
struct live_process *family_start(const char *const arguments[]);

/* Kill the target and reap it. */
void family_finish(struct live_process *target);

/* The sum of the rows of `site`, a call path of targets/family.c. `pid` 0: of any
 * process. `allocator` NULL: of any allocator. */
struct site_sum sum_of(const json_t *report, const char *section, pid_t pid,
		       const char *site, const char *allocator);

#define CHECK_SITE(report, pid, site, want_blocks, want_bytes)                           \
	do {                                                                             \
		struct site_sum sum_ = sum_of(report, "heap", pid, site, NULL);          \
		CHECK_INT(sum_.blocks, want_blocks);                                     \
		CHECK_INT(sum_.bytes, want_bytes);                                       \
	} while (0)

/* The array's element whose "pid" is `pid`, or NULL. Borrowed. */
const json_t *by_pid(const json_t *array, pid_t pid);

/* by_pid() for the report's "targets". */
const json_t *target_of(const json_t *report, pid_t pid);

/* Check that nothing is lost and that the sums agree. The sums of the processes must add
 * up to the sums of the report. */
void check_books(const json_t *report);

/* check_books(), but the loss with the name `allowed` may be non-zero. */
void check_books_but(const json_t *report, const char *allowed);

#endif
