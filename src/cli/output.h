/* SPDX-License-Identifier: Apache-2.0 */
/* Where reports go: stdout, or a file that is made with care, since we are root. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "util/error.h"

struct output {
	const char *path; /* NULL: stdout */
	FILE *file;
	bool created; /* the file was not there before */
	bool begun;   /* something may have been written */
};

/*
 * Open `path` for reports (NULL: stdout; borrowed), mode 0600. An existing file is
 * refused unless `force`; a symbolic link, or anything but a regular file, always. What
 * an existing file holds stays until output_begin().
 */
struct error *output_open(const char *path, bool force, struct output *ret)
	__attribute__((warn_unused_result));

/* The first report is about to be written: empty the file. */
struct error *output_begin(struct output *output) __attribute__((warn_unused_result));

/* Flush; ERROR_IO names the file when it cannot be written. */
struct error *output_flush(struct output *output) __attribute__((warn_unused_result));

/* Flush and close (not stdout). A file that was made for a run that never began is
 * removed. A zeroed struct is fine. */
struct error *output_close(struct output *output) __attribute__((warn_unused_result));

#endif
