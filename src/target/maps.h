/* SPDX-License-Identifier: Apache-2.0 */
/* The text of /proc/PID/maps taken apart. Used inside target/ and by its tests. */
#ifndef TARGET_MAPS_H
#define TARGET_MAPS_H

#include <stdbool.h>
#include <stddef.h>

#include "target/proc.h"
#include "util/error.h"

/*
 * Append the mappings that `text` (`size_bytes` long, lines ended by a newline) lists.
 * ERROR_MALFORMED names the line by its number. A line that overlaps the one before is
 * left out: the file is not read atomically, and callers want address order.
 *
 * The kernel (fs/proc/task_mmu.c, fs/d_path.c) writes a newline of a path as "\012" and
 * escapes nothing else, not even the backslash, and appends " (deleted)" to the path of
 * a file without a name. Both are ambiguous: files may be named so. The text alone
 * cannot decide; this function decodes and cuts, and maps_settle_names() looks at the
 * files.
 */
struct error *maps_parse(const char *text, size_t size_bytes, struct proc_maps *ret)
	__attribute__((warn_unused_result));

/*
 * Undo what maps_parse() took for an escape or a suffix where a file of the literal name
 * is there, below the directory `root_fd`, with the mapping's device and inode.
 */
struct error *maps_settle_names(int root_fd, struct proc_maps *maps)
	__attribute__((warn_unused_result));

/* Is what an O_PATH descriptor stands for the file of the mapping? */
bool maps_is_file(int place, const struct proc_mapping *mapping);

/* The same of what `path` leads to below the directory `root_fd`. */
bool maps_same_file(int root_fd, const char *path, const struct proc_mapping *mapping);

#endif
