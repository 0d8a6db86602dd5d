// SPDX-License-Identifier: Apache-2.0
#include "util/file_system.h"

#include <sys/vfs.h>

#include <linux/magic.h>

uint64_t file_system_of(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) ? 0 : (uint32_t)fs.f_type;
}

bool file_system_is_proc(int fd)
{
	return file_system_of(fd) == PROC_SUPER_MAGIC;
}
