/* SPDX-License-Identifier: Apache-2.0 */
/* File names with % sequences that are expanded when the file is written. */
#ifndef FILES_FILE_NAME_H
#define FILES_FILE_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

/*
 * The values of the sequences. %p: the process id (with several processes, the first
 * traced one). %t: the time of the report as YYYYMMDD-HHMMSS in local time. %n: the
 * number of the report (1 for the first). %%: a percent sign.
 */
struct file_name_values {
	int pid;
	uint64_t wall_ns; /* CLOCK_REALTIME */
	uint64_t number;
};

/* True if the pattern is not "" and contains no other % sequences. */
bool file_name_is_valid(const char *pattern);

/* True if a valid pattern contains % followed by `letter`. */
bool file_name_has(const char *pattern, char letter);

/* Expand a valid pattern. The caller frees *ret. */
struct error *file_name_expand(const char *pattern, const struct file_name_values *values,
			       char **ret) __attribute__((warn_unused_result));

#endif
