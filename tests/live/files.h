/* SPDX-License-Identifier: Apache-2.0 */
/* Files that memtrace wrote, and files for targets. */
#ifndef TESTS_LIVE_FILES_H
#define TESTS_LIVE_FILES_H

#include <stdint.h>
#include <sys/types.h>

/* The content of the file with this printf-style name, at most 4 MiB, NUL-terminated.
 * Owned. */
char *files_read(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, or NULL if the file cannot be opened. */
char *files_read_if_any(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Copy a file. All users may execute the copy. */
void files_copy(const char *from, const char *to);

/* Make the parent folders of `path`. */
void files_make_folders(const char *path);

/* Collapsed stacks: the sum of the numbers at the ends of the lines. */
int64_t files_sum_collapsed(const char *text);

/* CSV: the sum of the third column in the records of `pid`. */
int64_t files_sum_csv(const char *text, pid_t pid);

#endif
