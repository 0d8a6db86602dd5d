/* SPDX-License-Identifier: Apache-2.0 */
/* Files whose paths are others' to choose. */
#ifndef UTIL_REGULAR_FILE_H
#define UTIL_REGULAR_FILE_H

/*
 * Open a regular file for reading; -1 with errno set, ENODEV when it is none. Nothing
 * else is opened, however the path changes meanwhile: to open a device is to use it. The
 * descriptor is the caller's.
 */
int regular_file_open(const char *path);

/* The same of what an O_PATH descriptor stands for, which stays the caller's; -1 for -1.
 */
int regular_file_reopen(int place);

#endif
