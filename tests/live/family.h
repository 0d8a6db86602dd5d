/* SPDX-License-Identifier: Apache-2.0 */
/* Several processes in one run: memtrace as it is started for them, programs that do what
 * they are told (targets/family.c), and what each has in a report. */
#ifndef TESTS_LIVE_FAMILY_H
#define TESTS_LIVE_FAMILY_H

#include "live/trace.h"

/* memtrace with what `format` says, words separated by blanks; JSON, everything listed,
 * and no report before it is asked for. */
struct live_process *memtrace_by_path(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

/* The same, and the rows of each process apart. The format is a literal. */
#define memtrace_with(...) memtrace_by_path("--group-by process " __VA_ARGS__)

/* Until the probes stand. */
void memtrace_await(struct live_process *memtrace);

/* The final report of a run that ends by itself, with this status. */
json_t *memtrace_end(struct live_process *memtrace, int want_status);

/* Started, and ready; `arguments` end with NULL, or are NULL. */
struct live_process *family_start(const char *const arguments[]);

/* It dies, and nobody waits for its end but us. */
void family_finish(struct live_process *target);

/* The rows of `site` that belong to `pid` (0: any), with `allocator` (NULL: any). */
struct site_sum sum_of(const json_t *report, const char *section, pid_t pid,
		       const char *site, const char *allocator);

#define CHECK_SITE(report, pid, site, want_blocks, want_bytes)                           \
	do {                                                                             \
		struct site_sum sum_ = sum_of(report, "heap", pid, site, NULL);          \
		CHECK_INT(sum_.blocks, want_blocks);                                     \
		CHECK_INT(sum_.bytes, want_bytes);                                       \
	} while (0)

/* The element of an array whose "pid" it is, or NULL. Borrowed. */
const json_t *by_pid(const json_t *array, pid_t pid);

/* The same of the report's targets. */
const json_t *target_of(const json_t *report, pid_t pid);

/* Nothing is lost, and the sums agree: also those of the processes with the whole. */
void check_books(const json_t *report);

/* The same, and `allowed` may be lost. */
void check_books_but(const json_t *report, const char *allowed);

#endif
