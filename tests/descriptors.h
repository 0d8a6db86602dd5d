/* SPDX-License-Identifier: Apache-2.0 */
/* How many files a process has open. */
#ifndef DESCRIPTORS_H
#define DESCRIPTORS_H

#include <dirent.h>
#include <stdio.h>

#include "check.h"

/* The entries of /proc/PID/fd, with "." and ".."; of the test itself also the one by
 * which they are read. To be compared with an earlier count. */
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
