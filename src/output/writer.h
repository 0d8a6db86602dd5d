/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output files of a run that reads snapshots as root. memtrace gives up root's user
 * id and all capabilities before it reads a snapshot (output/offline.h). So the child
 * process memtrace-write creates files in root's directories: it passes their
 * descriptors, and gives them their names (files/new_file.h). docs/security.md,
 * "Privileges", says how requests limit code that has taken over memtrace.
 */
#ifndef OUTPUT_WRITER_H
#define OUTPUT_WRITER_H

#include "files/file_name.h"
#include "files/new_file.h"
#include "options/options.h"

/* The number of an output: an element of options.files, or this one for --output. */
#define WRITER_REPORT OUTPUT_KIND_COUNT

struct writer;

/* Start the child. *ret is NULL if it is not needed: this process is not root's, or
 * writes no files. `options` is borrowed. To be called before privileges are given up. */
struct error *writer_start(const struct options *options, struct writer **ret)
	__attribute__((warn_unused_result));

/* End the child. Data of files without their final name is lost. NULL is fine. */
void writer_stop(struct writer *writer);

/*
 * new_file_open() for this output, by the child; if `writer` is NULL, by this process.
 * `path` is the name with `values` filled in, and is borrowed. `values` may be NULL for
 * --output. The caller calls new_file_deinit() on `ret`, also after an error, and before
 * writer_stop().
 */
struct error *writer_open(struct writer *writer, size_t output,
			  const struct file_name_values *values, const char *path,
			  struct new_file *ret) __attribute__((warn_unused_result));

#endif
