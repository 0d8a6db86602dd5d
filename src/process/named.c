// SPDX-License-Identifier: Apache-2.0
#include "process/named.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "process/proc.h"
#include "util/cleanup.h"

size_t named_find(const char *name, int ret[], size_t max)
{
	_cleanup_(closedirp) DIR *dir = *name ? opendir("/proc") : NULL;
	size_t count = 0;

	if (!dir)
		return 0;
	for (int pid; count < max && (pid = proc_next(dir));) {
		char comm[PROC_COMM_SIZE];

		if (pid != getpid() && proc_thread_name(pid, (uint32_t)pid, comm) &&
		    !strncmp(comm, name, PROC_COMM_SIZE - 1))
			ret[count++] = pid;
	}
	return count;
}

size_t named_count(void)
{
	_cleanup_(closedirp) DIR *dir = opendir("/proc");
	size_t count = 0;

	while (dir && proc_next(dir))
		count++;
	return count;
}
