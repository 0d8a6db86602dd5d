// SPDX-License-Identifier: Apache-2.0
#include "target/named.h"

#include <dirent.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "target/proc.h"
#include "util/cleanup.h"
#include "util/units.h"

/* The next process of /proc. 0: there is none. */
static int next_pid(DIR *dir)
{
	for (struct dirent *entry; (entry = readdir(dir));) {
		uint64_t pid;

		if (units_parse_integer(entry->d_name, 1, INT32_MAX, &pid))
			return (int)pid;
	}
	return 0;
}

size_t named_find(const char *name, int ret[], size_t max)
{
	_cleanup_(closedirp) DIR *dir = *name ? opendir("/proc") : NULL;
	size_t count = 0;

	if (!dir)
		return 0;
	/* procfs lists processes in the order of their ids (proc_pid_readdir(),
	 * fs/proc/base.c). */
	for (int pid; count < max && (pid = next_pid(dir));) {
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

	while (dir && next_pid(dir))
		count++;
	return count;
}
