/* SPDX-License-Identifier: Apache-2.0 */
/* A snapshot file of the command line, and names for its frames. */
#ifndef CLI_SNAPSHOT_FILE_H
#define CLI_SNAPSHOT_FILE_H

#include "snapshot/snapshot.h"
#include "symbol/cache.h"
#include "util/error.h"

struct snapshot_file {
	struct snapshot *snap;
	struct symbolizer **symbolizers; /* by process, as the next; with NULLs */
	struct frame_cache **frames;     /* for report_build() */
};

/* Read `path` and get ready to name its frames, with their lines if `with_lines`.
 * `option` ("--replay") and the path stand before what is wrong. `ret` is the caller's to
 * deinit, also after an error. */
struct error *snapshot_file_load(const char *option, const char *path, bool with_lines,
				 struct snapshot_file *ret)
	__attribute__((warn_unused_result));
void snapshot_file_deinit(struct snapshot_file *file);

#endif
