// SPDX-License-Identifier: Apache-2.0
#include "process/live_thread.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/timed_read.h"
#include "util/cleanup.h"
#include "util/open_helper.h"
#include "util/units.h"

/* Threads may exit between listing and use, but hardly so often in a row. */
#define TRIES_MAX  64

#define PATH_BYTES 96

/*
 * Does the thread `tid` of `pid` still have the memory of its process? The link to the
 * executable shows it: a thread without memory has no such link (get_task_exe_file(),
 * kernel/fork.c). If we may not read the link, the answer is yes, so that the caller's
 * own access fails with the reason.
 */
static bool has_memory(int pid, int tid)
{
	char path[PATH_BYTES], target[1];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/exe", pid, tid);
	return readlink(path, target, sizeof(target)) >= 0 ||
	       (errno != ENOENT && errno != ESRCH);
}

/* The oldest thread of `pid`, without the main thread, that has memory; 0: none.
 * *ret_set is a checksum of the listed threads. */
static int find_other(int pid, uint64_t *ret_set)
{
	char path[PATH_BYTES];

	*ret_set = 0;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);

	_cleanup_(closedirp) DIR *dir = opendir(path);

	/* The kernel lists threads in the order of their creation. */
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
		/* All listed threads may have exited before we looked at them, after
		 * creating new ones. */
	} while (!tid && set != before && tries++ < TRIES_MAX);
	return tid ? tid : pid;
}

struct live_thread live_thread_begin(int pid)
{
	return (struct live_thread){.pid = pid, .tid = find(pid)};
}

bool live_thread_is_there(const struct live_thread *live)
{
	return has_memory(live->pid, live->tid);
}

bool live_thread_retry(struct live_thread *live)
{
	int tid;

	if (live_thread_is_there(live) || live->tries++ >= TRIES_MAX)
		return false;
	tid = find(live->pid);
	if (tid == live->tid || !has_memory(live->pid, tid))
		return false;
	live->tid = tid;
	return true;
}

bool live_thread_has_lost_first(int pid)
{
	return live_thread_begin(pid).tid != pid;
}

static bool is_map_files(const char *name)
{
	return !strncmp(name, "map_files", strlen("map_files"));
}

/* Will reading the file wait for the lock of the address space? */
static bool needs_lock(const char *name)
{
	return !strcmp(name, "mem") || !strcmp(name, "pagemap");
}

static void path_of(const struct live_thread *live, const char *name,
		    char ret[PATH_BYTES])
{
	/* /proc/PID/task/TID has everything but map_files, which only /proc/TID has.
	 * TID cannot be another process's number while the thread exists. */
	if (is_map_files(name))
		snprintf(ret, PATH_BYTES, "/proc/%d/%s", live->tid, name);
	else
		snprintf(ret, PATH_BYTES, "/proc/%d/task/%d/%s", live->pid, live->tid,
			 name);
}

int live_thread_open(int pid, const char *name, int flags)
{
	struct live_thread live = live_thread_begin(pid);
	char path[PATH_BYTES];

	if (needs_lock(name) && timed_read_would_wait(pid, live.tid)) {
		errno = ETIMEDOUT;
		return -1;
	}
	for (;;) {
		path_of(&live, name, path);

		int fd = is_map_files(name) ? timed_read_open(pid, path, flags)
					    : open(path, flags);
		int err = errno;

		/* Some files of a thread without memory can be opened and are empty. */
		if (!live_thread_retry(&live)) {
			errno = err;
			return fd;
		}
		closep(&fd);
	}
}

int live_thread_stat(int pid, const char *name, struct stat *ret)
{
	struct live_thread live = live_thread_begin(pid);
	char path[PATH_BYTES];
	int result;

	do {
		path_of(&live, name, path);
		result = open_helper_stat(AT_FDCWD, path, ret);
	} while (result && live_thread_retry(&live));
	return result;
}

ssize_t live_thread_readlink(int pid, const char *name, char *ret, size_t size)
{
	struct live_thread live = live_thread_begin(pid);
	char path[PATH_BYTES];
	ssize_t result;

	do {
		path_of(&live, name, path);
		result = readlink(path, ret, size);
	} while (result < 0 && live_thread_retry(&live));
	return result;
}

bool live_thread_read(int pid, uint64_t address, void *ret, size_t size)
{
	struct live_thread live = live_thread_begin(pid);
	ssize_t result;

	do {
		result = timed_read_memory(pid, live.tid, address, ret, size);
	} while (result != (ssize_t)size && live_thread_retry(&live));
	return result == (ssize_t)size;
}
