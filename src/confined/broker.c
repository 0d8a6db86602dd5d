// SPDX-License-Identifier: Apache-2.0
#include "confined/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "util/cleanup.h"
#include "util/file_system.h"
#include "util/open_helper.h"
#include "util/regular_file.h"

/* A system call of the process, as openat2(2), fstatat(2) and readlinkat(2) take it. */
struct call {
	const struct broker *broker;
	const struct broker_policy *policy;
	uint64_t id;
	int dir;        /* a descriptor of the process, or AT_FDCWD */
	uint64_t path;  /* address in the process */
	uint64_t ret;   /* address in the process for the result */
	uint64_t size;  /* size of the result, bytes */
	uint64_t flags; /* O_* or AT_* */
	char text[PATH_MAX];
};

/* Returns the system call's result, or a negative errno value. */
typedef int64_t answer_function(struct call *call);

void broker_deinit(struct broker *broker)
{
	closep(&broker->listener);
	closep(&broker->memory);
	broker->listener = broker->memory = -1;
}

/* --- the process's memory and descriptors ------------------------------------------- */

/* Read page by page: the page after the text may be unmapped. */
static bool read_path(struct call *call)
{
	size_t done = 0;

	while (done < sizeof(call->text)) {
		size_t size = 4096 - (call->path + done) % 4096;
		ssize_t n;

		if (size > sizeof(call->text) - done)
			size = sizeof(call->text) - done;
		n = pread(call->broker->memory, call->text + done, size,
			  (off_t)(call->path + done));
		if (n <= 0)
			return false;
		if (memchr(call->text + done, '\0', (size_t)n))
			return true;
		done += (size_t)n;
	}
	return false;
}

static int64_t write_result(const struct call *call, const void *bytes, size_t size)
{
	ssize_t n = pwrite(call->broker->memory, bytes, size, (off_t)call->ret);

	return n == (ssize_t)size ? 0 : -EFAULT;
}

/* Duplicate a descriptor of the process. Returns ours, or -1. */
static int take_descriptor(const struct call *call, int fd)
{
	return (int)syscall(SYS_pidfd_getfd, call->broker->process, fd, 0);
}

/* Give the process a duplicate of `fd`. Returns its number in the process. */
static int64_t give_descriptor(const struct call *call, int fd)
{
	struct seccomp_notif_addfd add = {
		.id = call->id,
		.srcfd = (uint32_t)fd,
		.newfd_flags = O_CLOEXEC,
	};
	int number = ioctl(call->broker->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add);

	return number < 0 ? -errno : number;
}

/* --- places ------------------------------------------------------------------------- */

/* Open one of the process's own descriptors, or their directory, by its name in /proc. */
static int find_own(const struct call *call, bool no_follow, bool *is_own)
{
	static const char directory[] = "/proc/self/fd";
	const char *rest = call->text + sizeof(directory) - 1;
	bool is_one = *rest && rest[1];
	unsigned long fd = 0;
	char path[48], *end = "";

	*is_own = !strncmp(call->text, directory, sizeof(directory) - 1) &&
		  (!*rest || *rest == '/');
	if (!*is_own)
		return -1;
	if (is_one)
		fd = strtoul(rest + 1, &end, 10);
	if (*end || fd > INT_MAX) {
		errno = ENOENT;
		return -1;
	}
	if (is_one && !no_follow)
		return take_descriptor(call, (int)fd);
	snprintf(path, sizeof(path), is_one ? "/proc/%d/fd/%lu" : "/proc/%d/fd",
		 call->broker->pid, fd);
	return open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

/* Find what the call's path leads to; -1 with errno set. *is_own is set if it is one of
 * the process's own descriptors. */
static int find_place(struct call *call, bool no_follow, bool *is_own)
{
	_cleanup_(closep) int dir = -1;
	int place;

	*is_own = false;

	if (!read_path(call)) {
		errno = EFAULT;
		return -1;
	}
	place = find_own(call, no_follow, is_own);
	if (*is_own)
		return place;
	if (call->text[0] == '/')
		return call->policy->find(call->policy->arg, -1, call->text, no_follow);
	/* The process has no working directory. */
	if (call->dir < 0 || !call->text[0]) {
		errno = EACCES;
		return -1;
	}
	dir = take_descriptor(call, call->dir);
	return dir < 0 ? -1
		       : call->policy->find(call->policy->arg, dir, call->text,
					    no_follow);
}

static bool is_null_device(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3);
}

static int open_regular(const struct broker_policy *policy, int place)
{
	/* policy->find() has refused files of procfs outside of the target's /proc/PID.
	 */
	int fd = regular_file_reopen_proc(place);

	if (fd < 0 || !policy->may_read || policy->may_read(policy->arg, fd))
		return fd;
	close(fd);
	errno = EACCES;
	return -1;
}

/* All is decided before the file is opened. */
static bool may_open(const struct call *call, int place)
{
	const struct broker_policy *policy = call->policy;
	const char *path = call->text[0] == '/' ? call->text : NULL;

	return !policy->may_open || policy->may_open(policy->arg, path, place);
}

/* Open `place` if this is harmless; -1 with errno set. */
static int open_place(const struct call *call, int place, bool is_own)
{
	uint64_t flags = call->flags;
	struct stat st;
	char link[32];
	bool is_path;

	if (open_helper_stat(place, "", &st))
		return -1;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", place);
	if (is_null_device(&st))
		return open(link, (int)(flags & O_ACCMODE) | O_CLOEXEC);
	if ((flags & O_ACCMODE) != O_RDONLY) {
		errno = EACCES;
		return -1;
	}
	/* The kernel refuses to pass O_PATH descriptors (seccomp_notify_addfd(),
	 * kernel/seccomp.c). A directory open for reading serves as well for relative
	 * paths, but the process can also list it. */
	is_path = S_ISDIR(st.st_mode) && (flags & O_PATH || file_system_is_proc(place));
	if ((S_ISREG(st.st_mode) || is_path) && !is_own && !may_open(call, place)) {
		errno = EACCES;
		return -1;
	}
	if (is_path)
		return open_helper_reopen(place, O_DIRECTORY);
	return open_regular(call->policy, place);
}

/* --- answers ------------------------------------------------------------------------ */

static int64_t answer_open(struct call *call)
{
	bool is_own;
	_cleanup_(closep) int place = find_place(call, call->flags & O_NOFOLLOW, &is_own);
	_cleanup_(closep) int fd = -1;

	if (place < 0)
		return -errno;
	fd = open_place(call, place, is_own);
	return fd < 0 ? -errno : give_descriptor(call, fd);
}

static int64_t answer_openat2(struct call *call)
{
	struct open_how how;

	if (call->size < sizeof(how) || pread(call->broker->memory, &how, sizeof(how),
					      (off_t)call->ret) != sizeof(how))
		return -EFAULT;
	call->flags = how.flags;
	return answer_open(call);
}

static int64_t answer_stat(struct call *call)
{
	struct stat st;
	bool is_own;
	char first;

	/* fstat(3) of glibc 2.33 to 2.38. */
	if (call->flags & AT_EMPTY_PATH &&
	    pread(call->broker->memory, &first, 1, (off_t)call->path) == 1 && !first) {
		_cleanup_(closep) int fd = take_descriptor(call, call->dir);

		return fd < 0 || open_helper_stat(fd, "", &st)
			       ? -errno
			       : write_result(call, &st, sizeof(st));
	}

	_cleanup_(closep) int place =
		find_place(call, call->flags & AT_SYMLINK_NOFOLLOW, &is_own);

	return place < 0 || open_helper_stat(place, "", &st)
		       ? -errno
		       : write_result(call, &st, sizeof(st));
}

static int64_t answer_access(struct call *call)
{
	bool is_own;
	_cleanup_(closep) int place = find_place(call, false, &is_own);

	return place < 0 ? -errno : 0;
}

static int64_t answer_readlink(struct call *call)
{
	bool is_own;
	_cleanup_(closep) int place = find_place(call, true, &is_own);
	char target[PATH_MAX];
	ssize_t n;

	if (place < 0)
		return -errno;
	n = open_helper_readlink(place, target, sizeof(target));
	if (n < 0)
		return -errno;
	if ((uint64_t)n > call->size)
		n = (ssize_t)call->size;
	return write_result(call, target, (size_t)n) ? -EFAULT : n;
}

/* For each system call, the numbers of its arguments; -1: no such argument. */
static const struct form {
	int number;
	answer_function *answer;
	int dir, path, ret, size, flags;
	uint64_t fixed_flags;
} forms[] = {
#ifdef __NR_open
	{__NR_open, answer_open, -1, 0, -1, -1, 1, 0},
	{__NR_stat, answer_stat, -1, 0, 1, -1, -1, 0},
	{__NR_lstat, answer_stat, -1, 0, 1, -1, -1, AT_SYMLINK_NOFOLLOW},
	{__NR_access, answer_access, -1, 0, -1, -1, -1, 0},
	{__NR_readlink, answer_readlink, -1, 0, 1, 2, -1, 0},
#endif
	{__NR_openat, answer_open, 0, 1, -1, -1, 2, 0},
	{__NR_openat2, answer_openat2, 0, 1, 2, 3, -1, 0},
	{__NR_newfstatat, answer_stat, 0, 1, 2, -1, 3, 0},
	{__NR_faccessat, answer_access, 0, 1, -1, -1, -1, 0},
	{__NR_faccessat2, answer_access, 0, 1, -1, -1, -1, 0},
	{__NR_readlinkat, answer_readlink, 0, 1, 2, 3, -1, 0},
};

static uint64_t argument(const struct seccomp_data *data, int index)
{
	return index < 0 ? 0 : data->args[index];
}

static int64_t answer(const struct broker *broker, const struct broker_policy *policy,
		      const struct seccomp_notif *notice)
{
	const struct seccomp_data *data = &notice->data;

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		const struct form *form = &forms[i];
		struct call call = {
			.broker = broker,
			.policy = policy,
			.id = notice->id,
			.dir = form->dir < 0 ? AT_FDCWD : (int)argument(data, form->dir),
			.path = argument(data, form->path),
			.ret = argument(data, form->ret),
			.size = argument(data, form->size),
			.flags = form->fixed_flags | argument(data, form->flags),
		};

		if (form->number == data->nr)
			return form->answer(&call);
	}
	return -EPERM;
}

bool broker_answer(const struct broker *broker, const struct broker_policy *policy)
{
	struct seccomp_notif notice;
	struct seccomp_notif_resp reply = {.id = 0};
	int64_t result;

	memset(&notice, 0, sizeof(notice));
	if (ioctl(broker->listener, SECCOMP_IOCTL_NOTIF_RECV, &notice))
		return errno == EINTR;
	result = answer(broker, policy, &notice);
	reply.id = notice.id;
	if (result < 0)
		reply.error = (int32_t)result;
	else
		reply.val = result;
	/* ENOENT: the process has exited. */
	(void)ioctl(broker->listener, SECCOMP_IOCTL_NOTIF_SEND, &reply);
	return true;
}
