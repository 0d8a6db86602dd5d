// SPDX-License-Identifier: Apache-2.0
#include "symbol/fd_guard.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
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

		/* atoi() gives 0 for "." and ".." as for descriptor 0. */
		if (entry->d_name[0] != '.' && fd != dirfd(dir))
			failed = !vec_push(&ret->fds, fd);
	}
	closedir(dir);
	return failed ? error_no_memory() : NULL;
}

/* The guard of this thread; close() below obeys it. NULL: none. */
static _Thread_local const struct fd_guard *in_force;

static int compare(const void *pa, const void *pb)
{
	int a = *(const int *)pa, b = *(const int *)pb;

	return (a > b) - (a < b);
}

/* The kernel lists descriptors in order (proc_readfd_common(), fs/proc/fd.c). */
static bool contains(const struct fd_list *list, int fd)
{
	return list->fds.len &&
	       bsearch(&fd, list->fds.data, list->fds.len, sizeof(fd), compare);
}

/*
 * Replaces close(2) for shared libraries too: the dynamic linker looks up a name in the
 * executable first (ELF gABI, "Shared Object Dependencies"). Duplicates of the
 * descriptors, to restore them later, would not help: libbcc may close the duplicate
 * just as well.
 */
__attribute__((visibility("default"))) int close(int fd)
{
	if (in_force && contains(&in_force->before, fd)) {
		errno = EBADF;
		return -1;
	}
	return (int)syscall(SYS_close, fd);
}

static void flush(void)
{
	fflush(stdout);
	fflush(stderr);
}

/* Point `fd` at `null`. `*ret_copy` is a duplicate of the old file, or -1. */
static void silence(int fd, int null, int *ret_copy)
{
	*ret_copy = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (*ret_copy >= 0)
		dup2(null, fd);
}

static void restore(int fd, int copy)
{
	if (copy < 0)
		return;
	dup2(copy, fd);
	close(copy);
}

static void release(struct fd_guard *guard)
{
	flush();
	restore(STDOUT_FILENO, guard->out);
	restore(STDERR_FILENO, guard->err);
	vec_deinit(&guard->before.fds);
	fd_table_release();
}

struct error *fd_guard_begin(struct fd_guard *guard)
{
	struct error *err;

	fd_table_hold();
	*guard = (struct fd_guard){.out = -1, .err = -1};
	/* Buffered output belongs to the real files, not to /dev/null. */
	flush();

	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	/* Without /dev/null libbcc's warnings may show, but names still work. */
	if (null > STDERR_FILENO) {
		silence(STDOUT_FILENO, null, &guard->out);
		silence(STDERR_FILENO, null, &guard->err);
	}
	closep(&null);
	err = list_fds(&guard->before);
	if (err)
		release(guard);
	else
		in_force = guard;
	return err;
}

void fd_guard_end(struct fd_guard *guard, struct fd_list *ret_opened)
{
	struct fd_list list = {0};
	struct error *err = list_fds(&list);

	in_force = NULL;
	for (size_t i = 0; !err && i < list.fds.len; i++) {
		int fd = list.fds.data[i];

		if (contains(&guard->before, fd))
			continue;
		/* libbcc opens files without O_CLOEXEC. */
		fcntl(fd, F_SETFD, FD_CLOEXEC);
		if (ret_opened)
			(void)!vec_push(&ret_opened->fds, fd);
	}
	error_destroy(err);
	vec_deinit(&list.fds);
	release(guard);
}

void fd_guard_except(struct fd_guard *guard, const struct fd_list *own)
{
	struct fd_list *before = &guard->before;
	size_t kept = 0;

	vec_foreach (fd, &before->fds)
		if (!contains(own, *fd))
			before->fds.data[kept++] = *fd;
	before->fds.len = kept;
}
