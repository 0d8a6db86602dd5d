/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files whose paths are others' to choose. A path is followed once, without opening what
 * it leads to: to open a device is to use it, and to open a FIFO is to wait. A file
 * system that does not answer costs little time (util/open_helper.h): errno is ETIMEDOUT
 * then.
 */
#ifndef UTIL_REGULAR_FILE_H
#define UTIL_REGULAR_FILE_H

#include <stdint.h>

/*
 * Find what a path leads to below the directory `root_fd`, which symbolic links and ".."
 * cannot leave (openat2(2), RESOLVE_IN_ROOT). `flags` are 0 or O_NOFOLLOW. Returns an
 * O_PATH descriptor, which is the caller's, or -1 with errno set.
 */
int place_find(int root_fd, const char *path, uint64_t flags);

/* The same of an absolute path of the machine, which links may leave. */
int place_open(const char *path, uint64_t flags);

/*
 * Open for reading what an O_PATH descriptor stands for, which stays the caller's, if it
 * is a regular file; else -1 with errno set, ENODEV when it is none, and nothing is
 * opened. -1 for -1. The new descriptor is the caller's.
 */
int regular_file_reopen(int place);

/* The same of what a path leads to. */
int regular_file_open(const char *path);

/* The same below a directory, as place_find() does it. */
int regular_file_open_below(int root_fd, const char *path);

#endif
