// SPDX-License-Identifier: Apache-2.0
#include "symbol/fd_guard.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/cleanup.h"
#include "util/fd_table.h"

static struct error *list_fds(struct fd_list *ret)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	bool failed = false;

	if (!dir)
		return error_errno(ERROR_IO, errno, "cannot read /proc/self/fd");
	while (!failed && (entry = readdir(dir))) {
		int fd = atoi(entry->d_name);

		/* "." and ".." read as 0, and so does descriptor 0. */
		if (entry->d_name[0] != '.' && fd != dirfd(dir))
			failed = !vec_push(&ret->fds, fd);
	}
	closedir(dir);
	return failed ? error_no_memory() : NULL;
}

static void release(struct fd_guard *guard)
{
	vec_foreach (entry, &guard->entries)
		close(entry->copy);
	vec_deinit(&guard->entries);
}

/* The copies lie so far above what is open. What libbcc closes is mostly a number that
 * it had before, and so a low one, which may be another's by now: were that the copy of
 * standard output, there would be nothing left to put back. */
#define COPIES_ABOVE 256

static int copy_of(int fd, int highest)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, highest + COPIES_ABOVE);

	/* Beyond RLIMIT_NOFILE. */
	return copy >= 0 ? copy : fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

struct error *fd_guard_begin(struct fd_guard *guard)
{
	struct fd_list list = {0};
	struct error *err;
	int highest = 0;

	fd_table_hold();
	err = list_fds(&list);
	*guard = (struct fd_guard){0};
	/* What was buffered belongs to the real files, not to /dev/null. */
	fflush(stdout);
	fflush(stderr);
	vec_foreach (fd, &list.fds)
		highest = *fd > highest ? *fd : highest;
	for (size_t i = 0; !err && i < list.fds.len; i++) {
		int fd = list.fds.data[i];
		struct fd_guard_entry entry = {
			.fd = fd,
			.copy = copy_of(fd, highest),
			.flags = fcntl(fd, F_GETFD),
		};

		if (entry.copy < 0) {
			err = error_errno(ERROR_IO, errno, "cannot duplicate fd %d", fd);
		} else if (!vec_push(&guard->entries, entry)) {
			close(entry.copy);
			err = error_no_memory();
		}
	}
	vec_deinit(&list.fds);
	if (err) {
		release(guard);
		fd_table_release();
		return err;
	}

	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	/* Without /dev/null a warning may show; that is no reason to go without names. */
	if (null > STDERR_FILENO) {
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
	}
	if (null >= 0)
		close(null);
	return NULL;
}

static bool same_file(int a, int b)
{
	struct stat sa, sb;

	return !fstat(a, &sa) && !fstat(b, &sb) && sa.st_dev == sb.st_dev &&
	       sa.st_ino == sb.st_ino;
}

static bool is_guarded(const struct fd_guard *guard, int fd)
{
	for (size_t i = 0; i < guard->entries.len; i++) {
		const struct fd_guard_entry *entry = &guard->entries.data[i];

		if (entry->fd == fd || entry->copy == fd)
			return true;
	}
	return false;
}

void fd_guard_end(struct fd_guard *guard)
{
	struct fd_list list = {0};
	struct error *err = list_fds(&list);

	fflush(stdout);
	fflush(stderr);
	vec_foreach (entry, &guard->entries) {
		if (same_file(entry->fd, entry->copy))
			continue;
		dup2(entry->copy, entry->fd);
		fcntl(entry->fd, F_SETFD, entry->flags);
	}
	/* libbcc opens without O_CLOEXEC. */
	for (size_t i = 0; i < list.fds.len; i++) {
		if (!is_guarded(guard, list.fds.data[i]))
			fcntl(list.fds.data[i], F_SETFD, FD_CLOEXEC);
	}
	error_destroy(err);
	vec_deinit(&list.fds);
	release(guard);
	fd_table_release();
}

void fd_guard_opened(const struct fd_guard *guard, struct fd_list *ret)
{
	struct fd_list list = {0};
	struct error *err = list_fds(&list);

	vec_foreach (fd, &list.fds)
		if (!err && !is_guarded(guard, *fd))
			(void)!vec_push(&ret->fds, *fd);
	error_destroy(err);
	vec_deinit(&list.fds);
}

static bool contains(const struct fd_list *list, int fd)
{
	for (size_t i = 0; i < list->fds.len; i++)
		if (list->fds.data[i] == fd)
			return true;
	return false;
}

void fd_guard_except(struct fd_guard *guard, const struct fd_list *own)
{
	size_t kept = 0;

	vec_foreach (entry, &guard->entries) {
		if (contains(own, entry->fd))
			close(entry->copy);
		else
			guard->entries.data[kept++] = *entry;
	}
	guard->entries.len = kept;
}
