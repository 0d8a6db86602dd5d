// SPDX-License-Identifier: Apache-2.0
#include "util/file_system.h"

#include <linux/magic.h>

#include "util/open_helper.h"

uint64_t file_system_of(int fd)
{
	return open_helper_system(fd);
}

bool file_system_is_proc(int fd)
{
	return file_system_of(fd) == PROC_SUPER_MAGIC;
}
