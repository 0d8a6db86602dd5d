/* SPDX-License-Identifier: Apache-2.0 */
/* Identifies the file system of an open file. */
#ifndef UTIL_FILE_SYSTEM_H
#define UTIL_FILE_SYSTEM_H

#include <stdbool.h>
#include <stdint.h>

/* f_type of statfs(2), such as PROC_SUPER_MAGIC of <linux/magic.h>; 0: unknown. */
uint64_t file_system_of(int fd);

bool file_system_is_proc(int fd);

/* Are the file system's files interfaces of the kernel, as in procfs, sysfs and tracefs?
 * Reading such a file may have effects, or show data of another process. Also true if the
 * file system is unknown: it may be one of them. */
bool file_system_is_of_kernel(int fd);

#endif
