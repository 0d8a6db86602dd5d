// SPDX-License-Identifier: Apache-2.0
#include "target/living.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "util/cleanup.h"
#include "util/open_helper.h"
#include "util/units.h"

/* Threads may end as fast as they are found, but hardly so often in a row. */
#define TRIES_MAX  64

#define PATH_BYTES 96

/*
 * Has the thread `tid` of `pid` the memory of its process? Only that is known by the link
 * to the executable: there is none without memory (get_task_exe_file(), kernel/fork.c).
 * What we may not see counts as there, so that whoever asks for it meets the reason.
 */
static bool has_memory(int pid, int tid)
{
	char path[PATH_BYTES], target[1];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/exe", pid, tid);
	return readlink(path, target, sizeof(target)) >= 0 ||
	       (errno != ENOENT && errno != ESRCH);
}

/* The oldest thread of `pid` but the first that has memory; 0: none of those of which
 * `*ret_set` is a sum. */
static int find_other(int pid, uint64_t *ret_set)
{
	char path[PATH_BYTES];

	*ret_set = 0;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);

	_cleanup_(closedirp) DIR *dir = opendir(path);

	/* The kernel lists threads in the order in which they were made. */
	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		uint64_t tid;

		if (!units_parse_integer(entry->d_name, 1, INT_MAX, &tid) ||
		    (int)tid == pid)
			continue;
		*ret_set += tid * tid;
		if (has_memory(pid, (int)tid))
			return (int)tid;
	}
	return 0;
}

static int find(int pid)
{
	uint64_t set = 0, before;
	unsigned tries = 0;
	int tid;

	if (has_memory(pid, pid))
		return pid;
	do {
		before = set;
		tid = find_other(pid, &set);
		/* All that were listed may have ended before they were looked at, and
		 * have left others behind. */
	} while (!tid && set != before && tries++ < TRIES_MAX);
	return tid ? tid : pid;
}

struct living living_begin(int pid)
{
	return (struct living){.pid = pid, .tid = find(pid)};
}

bool living_is_there(const struct living *living)
{
	return has_memory(living->pid, living->tid);
}

bool living_retry(struct living *living)
{
	int tid;

	if (living_is_there(living) || living->tries++ >= TRIES_MAX)
		return false;
	tid = find(living->pid);
	if (tid == living->tid || !has_memory(living->pid, tid))
		return false;
	living->tid = tid;
	return true;
}

bool living_has_lost_first(int pid)
{
	return living_begin(pid).tid != pid;
}

static void path_of(const struct living *living, const char *name, char ret[PATH_BYTES])
{
	/* Of a thread there is all but these; its number is nobody else's there. */
	if (!strncmp(name, "map_files", strlen("map_files")))
		snprintf(ret, PATH_BYTES, "/proc/%d/%s", living->tid, name);
	else
		snprintf(ret, PATH_BYTES, "/proc/%d/task/%d/%s", living->pid, living->tid,
			 name);
}

int living_open(int pid, const char *name, int flags)
{
	struct living living = living_begin(pid);
	char path[PATH_BYTES];

	for (;;) {
		path_of(&living, name, path);

		int fd = open(path, flags), err = errno;

		/* Without memory some of them can be opened, too, and are empty. */
		if (!living_retry(&living)) {
			errno = err;
			return fd;
		}
		closep(&fd);
	}
}

int living_stat(int pid, const char *name, struct stat *ret)
{
	struct living living = living_begin(pid);
	char path[PATH_BYTES];
	int result;

	do {
		path_of(&living, name, path);
		result = open_helper_stat(AT_FDCWD, path, ret);
	} while (result && living_retry(&living));
	return result;
}

ssize_t living_readlink(int pid, const char *name, char *ret, size_t size)
{
	struct living living = living_begin(pid);
	char path[PATH_BYTES];
	ssize_t result;

	do {
		path_of(&living, name, path);
		result = readlink(path, ret, size);
	} while (result < 0 && living_retry(&living));
	return result;
}

bool living_read(int pid, uint64_t address, void *ret, size_t size)
{
	const struct iovec here = {ret, size}, there = {(void *)(uintptr_t)address, size};
	struct living living = living_begin(pid);
	ssize_t result;

	do {
		result = process_vm_readv(living.tid, &here, 1, &there, 1, 0);
	} while (result != (ssize_t)size && living_retry(&living));
	return result == (ssize_t)size;
}
