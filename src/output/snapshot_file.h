/* SPDX-License-Identifier: Apache-2.0 */
/* A snapshot file named on the command line, and the names of its frames. */
#ifndef OUTPUT_SNAPSHOT_FILE_H
#define OUTPUT_SNAPSHOT_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "snapshot/snapshot.h"
#include "symbol/cache.h"
#include "symbol/debug_store.h"
#include "util/error.h"

struct snapshot_file {
	const char *option, *path;
	FILE *in; /* open from snapshot_file_open() to snapshot_file_load() */
	uint64_t size_bytes;
	bool is_quick; /* snapshot_write_quickly() of a parent process has written it */
	struct snapshot *snap;
	struct symbolizer **symbolizers; /* one for each process; some may be NULL */
	struct frame_cache **frames;     /* the same, for report_build() */
};

/* Open `path`. `path` and `option` ("--replay") are borrowed; error messages, also later
 * ones, begin with them. The caller calls snapshot_file_deinit() on `ret`, also after an
 * error. */
struct error *snapshot_file_open(const char *option, const char *path,
				 struct snapshot_file *ret)
	__attribute__((warn_unused_result));
/* Read the file and prepare to name its frames, with source lines if `with_lines` is
 * set. `store` completes names and lines and must outlive `file`; NULL: none. */
struct error *snapshot_file_load(struct snapshot_file *file, bool with_lines,
				 struct debug_store *store)
	__attribute__((warn_unused_result));
void snapshot_file_deinit(struct snapshot_file *file);

#endif
