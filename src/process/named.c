// SPDX-License-Identifier: Apache-2.0
#include "process/named.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "process/proc.h"
#include "process/unit.h"
#include "util/cleanup.h"

static bool is_named(const char *comm, const char *name)
{
	return !strncmp(comm, name, PROC_COMM_SIZE - 1);
}

static bool contains(const char *comm, const char *part)
{
	return strstr(comm, part) && strcmp(comm, part) != 0;
}

/* Those whose name `matches`. */
static size_t find_matching(const char *name,
			    bool (*matches)(const char *comm, const char *name),
			    int ret[], size_t max)
{
	_cleanup_(closedirp) DIR *dir = *name ? opendir("/proc") : NULL;
	size_t count = 0;

	if (!dir)
		return 0;
	for (int pid; count < max && (pid = proc_next(dir));) {
		char comm[PROC_COMM_SIZE];

		if (pid != getpid() && proc_thread_name(pid, (uint32_t)pid, comm) &&
		    matches(comm, name))
			ret[count++] = pid;
	}
	return count;
}

size_t named_find(const char *name, int ret[], size_t max)
{
	return find_matching(name, is_named, ret, max);
}

size_t named_find_containing(const char *part, int ret[], size_t max)
{
	return find_matching(part, contains, ret, max);
}

/* Read a link of /proc/PID. False: it cannot be read, or is too long. */
static bool read_link(int pid, const char *name, char *ret, size_t size)
{
	char path[64];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	len = readlink(path, ret, size - 1);
	if (len < 0 || (size_t)len >= size - 1)
		return false;
	ret[len] = '\0';
	return true;
}

bool named_has_program(int pid)
{
	char link[PATH_MAX];

	return read_link(pid, "exe", link, sizeof(link));
}

size_t named_find_executable(const char *path, int ret[], size_t max)
{
	_cleanup_(closedirp) DIR *dir = opendir("/proc");
	char ours[64], theirs[64], link[PATH_MAX];
	size_t count = 0;

	if (!dir || !read_link(getpid(), "ns/mnt", ours, sizeof(ours)))
		return 0;
	for (int pid; count < max && (pid = proc_next(dir));)
		if (pid != getpid() && read_link(pid, "exe", link, sizeof(link)) &&
		    !strcmp(link, path) &&
		    read_link(pid, "ns/mnt", theirs, sizeof(theirs)) &&
		    !strcmp(ours, theirs))
			ret[count++] = pid;
	return count;
}

/* How many are asked for at first. */
#define PIDS_FIRST 256

void named_find_programs(const char *name, struct named_pids *ret)
{
	size_t (*find)(const char *name, int ret[], size_t max) =
		strchr(name, '/')    ? named_find_executable
		: unit_is_name(name) ? unit_find
				     : named_find;
	size_t found, kept = 0;

	*ret = (struct named_pids){0};
	for (size_t max = PIDS_FIRST; vec_reserve(&ret->list, max); max *= 2) {
		found = find(name, ret->list.data, max);
		ret->list.len = found;
		if (found < max)
			break;
	}
	vec_foreach (pid, &ret->list)
		if (named_has_program(*pid))
			ret->list.data[kept++] = *pid;
	ret->list.len = kept;
}

void named_pids_deinit(struct named_pids *pids)
{
	vec_deinit(&pids->list);
}

size_t named_count(void)
{
	_cleanup_(closedirp) DIR *dir = opendir("/proc");
	size_t count = 0;

	while (dir && proc_next(dir))
		count++;
	return count;
}
