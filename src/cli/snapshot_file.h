/* SPDX-License-Identifier: Apache-2.0 */
/* A snapshot file of the command line, and names for its frames. */
#ifndef CLI_SNAPSHOT_FILE_H
#define CLI_SNAPSHOT_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "snapshot/snapshot.h"
#include "symbol/cache.h"
#include "util/error.h"

struct snapshot_file {
	const char *option, *path;
	FILE *in; /* between open and load */
	uint64_t size_bytes;
	struct snapshot *snap;
	struct symbolizer **symbolizers; /* by process, as the next; with NULLs */
	struct frame_cache **frames;     /* for report_build() */
};

/* Open `path`. It and `option` ("--replay") are borrowed, and stand before what is wrong,
 * also later. `ret` is the caller's to deinit, also after an error. */
struct error *snapshot_file_open(const char *option, const char *path,
				 struct snapshot_file *ret)
	__attribute__((warn_unused_result));
/* Read it and get ready to name its frames, with their lines if `with_lines`. */
struct error *snapshot_file_load(struct snapshot_file *file, bool with_lines)
	__attribute__((warn_unused_result));
void snapshot_file_deinit(struct snapshot_file *file);

#endif
