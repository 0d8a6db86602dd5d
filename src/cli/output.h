/* SPDX-License-Identifier: Apache-2.0 */
/* Where reports go: stdout, or a file that is made with care, since we are root. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "cli/new_file.h"
#include "util/error.h"

struct output {
	const char *path; /* NULL: stdout */
	FILE *file;       /* to write a report to; then output_flush() */
	bool force;
	struct new_file whole;    /* unused for stdout */
	struct file_identity own; /* all 0 until the file has its name */
	off_t good_bytes;         /* of whole reports in the file */
};

/*
 * Open `path` for reports (NULL: stdout; borrowed), mode 0600. An existing file is
 * refused unless `force`; a symbolic link, or anything but a regular file, always. The
 * file has its name, and an existing one is replaced, when the first report is whole and
 * on disk. `ret` must not be moved.
 */
struct error *output_open(const char *path, bool force, struct output *ret)
	__attribute__((warn_unused_result));

/* A report is written. ERROR_IO names the file when it cannot be. */
struct error *output_flush(struct output *output) __attribute__((warn_unused_result));

/* A report could not be written: take off what is there of it, so that the next one can
 * be. What is on standard output already stays. */
struct error *output_discard(struct output *output) __attribute__((warn_unused_result));

/* Close (not stdout). What was written since the last output_flush() that succeeded is
 * taken off again; a file without a report never was there. A zeroed struct is fine. */
void output_close(struct output *output);

#endif
