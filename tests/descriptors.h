/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the open files of a process. */
#ifndef DESCRIPTORS_H
#define DESCRIPTORS_H

#include <dirent.h>
#include <stdio.h>

#include "check.h"

/* The number of entries of /proc/PID/fd, including "." and "..", and for this process the
 * directory's own descriptor. Only for comparison with an earlier count. */
static inline unsigned count_descriptors(int pid)
{
	unsigned count = 0;
	char path[64];
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	folder = opendir(path);
	REQUIRE(folder);
	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

#endif
