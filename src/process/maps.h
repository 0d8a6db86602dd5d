/* SPDX-License-Identifier: Apache-2.0 */
/* Parser of /proc/PID/maps. Used inside process/ and by its tests. */
#ifndef PROCESS_MAPS_H
#define PROCESS_MAPS_H

#include <stdbool.h>
#include <stddef.h>

#include "process/proc.h"
#include "util/error.h"

/*
 * Append the mappings in `text` (`size_bytes` long, lines ended by a newline) to `ret`.
 * ERROR_MALFORMED gives the number of the line. A line that overlaps the previous one
 * is skipped: the file is not read atomically, and callers want address order.
 *
 * The kernel (fs/proc/task_mmu.c, fs/d_path.c) writes a newline in a path as "\012" and
 * escapes nothing else, not even the backslash. It appends " (deleted)" to the path of
 * a file without a name. Both are ambiguous, because a file's name may contain these
 * texts. This function decodes "\012" and cuts " (deleted)"; maps_settle_names() then
 * checks the files.
 */
struct error *maps_parse(const char *text, size_t size_bytes, struct proc_maps *ret)
	__attribute__((warn_unused_result));

/*
 * Correct paths that maps_parse() wrongly decoded or cut. A path is restored if a file
 * with the literal name exists below the directory `root_fd` and has the mapping's
 * device and inode.
 */
struct error *maps_settle_names(int root_fd, struct proc_maps *maps)
	__attribute__((warn_unused_result));

/* Is the file of the O_PATH descriptor `place` the mapped file? It is opened only on file
 * systems where stat(2) cannot answer (file_names_check()). */
bool maps_is_file(int place, const struct proc_mapping *mapping);

/* Is the file at `path`, below the directory `root_fd`, the mapped file? No symbolic link
 * is followed: the kernel reports paths without links. */
bool maps_same_file(int root_fd, const char *path, const struct proc_mapping *mapping);

#endif
