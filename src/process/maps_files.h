/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the lines of /proc/PID/maps with files. Private to process/. */
#ifndef PROCESS_MAPS_FILES_H
#define PROCESS_MAPS_FILES_H

#include <stdbool.h>

#include "process/maps.h"
#include "util/error.h"

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
