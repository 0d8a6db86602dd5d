/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens files whose paths others can choose. A path is resolved once, without opening
 * the file: opening a device may have effects, and opening a FIFO may block. A file
 * system that does not answer costs little time (util/open_helper.h); errno is then
 * ETIMEDOUT.
 */
#ifndef UTIL_REGULAR_FILE_H
#define UTIL_REGULAR_FILE_H

#include <stdint.h>

/*
 * Find what a path leads to below the directory `root_fd`. Symbolic links and ".."
 * cannot leave this directory (openat2(2), RESOLVE_IN_ROOT). `flags` is 0 or
 * O_NOFOLLOW. Returns an O_PATH descriptor, owned by the caller, or -1 with errno set.
 */
int place_find(int root_fd, const char *path, uint64_t flags);

/* Like place_find(), but fails with ELOOP if a symbolic link is in the path. */
int place_find_plain(int root_fd, const char *path);

/* Like place_find(), for an absolute path of the machine. */
int place_open(const char *path, uint64_t flags);

/*
 * Open the file of an O_PATH descriptor for reading, if it is a regular file and not an
 * interface of the kernel (util/file_system.h). Otherwise nothing is opened, and -1 is
 * returned with errno set (ENODEV: not a regular file; EACCES: of the kernel).
 * `place` stays the caller's; -1 for -1. The caller owns the new descriptor.
 */
int regular_file_reopen(int place);

/* Like regular_file_reopen(), also for files of procfs. The caller must have checked that
 * no path of the target leads to one outside of its own /proc/PID. */
int regular_file_reopen_proc(int place);

/* Like regular_file_reopen(), for a path. */
int regular_file_open(const char *path);

/* Like regular_file_open(), for a path below a directory as in place_find(). */
int regular_file_open_below(int root_fd, const char *path);

#endif
