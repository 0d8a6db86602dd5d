/* SPDX-License-Identifier: Apache-2.0 */
/* Where reports go: stdout, or a new file that is created safely, because memtrace runs
 * as root. */
#ifndef OUTPUT_OUTPUT_H
#define OUTPUT_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "output/writer.h"
#include "util/error.h"

struct output {
	const char *path;      /* NULL: stdout */
	struct writer *writer; /* NULL: this process */
	FILE *file;            /* the report is written here; then call output_flush() */
	bool force;
	struct new_file whole;    /* the file; unused for stdout */
	struct file_identity own; /* identity of the file; all 0: it has no name yet
				     yet */
	off_t good_bytes;         /* size of the complete reports in the file */
};

/*
 * Open `path` for reports (NULL: stdout; borrowed), mode 0600. `writer` creates the file
 * (NULL: this process), and is borrowed. Refuses an existing file
 * unless `force` is set; always refuses a symbolic link or anything else that is not a
 * regular file. The file gets its name, and replaces an existing one, when the first
 * report is complete and on disk. `ret` must not be moved.
 */
struct error *output_open(const char *path, bool force, struct writer *writer,
			  struct output *ret) __attribute__((warn_unused_result));

/* Finish a report: write what is buffered. ERROR_IO names the file. */
struct error *output_flush(struct output *output) __attribute__((warn_unused_result));

/* A report could not be written: remove its incomplete part so that the next report can
 * follow. What already went to standard output stays. */
struct error *output_discard(struct output *output) __attribute__((warn_unused_result));

/* Close the file (not stdout). Removes data written since the last successful
 * output_flush(). If no report was flushed, no file appears. A zeroed struct is
 * accepted. */
void output_close(struct output *output);

#endif
