/* SPDX-License-Identifier: Apache-2.0 */
/* Names of files in which % stands for something that is known later. */
#ifndef CLI_FILE_NAME_H
#define CLI_FILE_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

/*
 * %p is the process id (of several the first that was traced), %t the time of the report
 * as YYYYMMDD-HHMMSS in local time, %n the number of the report (1 for the first), %% a
 * percent sign.
 */
struct file_name_values {
	int pid;
	uint64_t wall_ns; /* CLOCK_REALTIME */
	uint64_t number;
};

/* True for a name that is not "" and has no other sequences. */
bool file_name_is_valid(const char *pattern);

/* True when a valid pattern has the sequence of `letter`. */
bool file_name_has(const char *pattern, char letter);

/* Expand a valid pattern into a name that the caller frees. */
struct error *file_name_expand(const char *pattern, const struct file_name_values *values,
			       char **ret) __attribute__((warn_unused_result));

#endif
