/* SPDX-License-Identifier: Apache-2.0 */
/* Where reports go: stdout, or a file that is made with care, since we are root. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "util/error.h"

/*
 * Open `path` for reports (NULL: stdout), mode 0600. An existing file is refused unless
 * `force`; a symbolic link, or anything but a regular file, always.
 */
struct error *output_open(const char *path, bool force, FILE **ret)
	__attribute__((warn_unused_result));

/* Flush; ERROR_IO names the file when it cannot be written. */
struct error *output_flush(FILE *out, const char *path)
	__attribute__((warn_unused_result));

/* Flush and close (not stdout). NULL is fine. */
struct error *output_close(FILE *out, const char *path)
	__attribute__((warn_unused_result));

#endif
