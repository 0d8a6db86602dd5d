// SPDX-License-Identifier: Apache-2.0
#include "util/open_helper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/cleanup.h"
#include "util/clock.h"
#include "util/fd_message.h"
#include "util/open_child.h"

#define HUNG_MAX 4

/* Time to wait for the first file system that does not answer. Each further one gets
 * half of the previous one's time, so the total is below twice this time. */
#define PATIENCE_NS UINT64_C(4000000000)
#define HURRY_NS    UINT64_C(300000000)
#define LOOK_MS     50

struct lane {
	int socket;
	bool is_busy;
	bool is_hung; /* the caller has given up waiting */
	dev_t system; /* the file system that does not answer */
};

struct open_helper {
	struct open_helper_options options;
	pid_t pid;
	dev_t proc; /* file system of our /proc */
	pthread_mutex_t lock;
	struct lane lanes[OPEN_LANES];
	unsigned hung;
	bool in_hurry;     /* accessed atomically */
	bool is_dead;      /* the child has exited; accessed atomically */
	uint64_t given_up; /* accessed atomically */
};

/* One per process, like the table of descriptors. */
static struct open_helper *helper;

/* --- start and end ------------------------------------------------------------------ */

static void helper_destroy(struct open_helper *h)
{
	if (!h)
		return;
	for (size_t i = 0; i < OPEN_LANES; i++)
		closep(&h->lanes[i].socket);
	pthread_mutex_destroy(&h->lock);
	free(h);
}

DEFINE_CLEANUP(struct open_helper *, helper_destroy);

static struct error *make_lanes(struct open_helper *h, int theirs[OPEN_LANES])
{
	for (size_t i = 0; i < OPEN_LANES; i++) {
		int pair[2];

		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
			return error_errno(ERROR_IO, errno, "cannot make a socket pair");
		h->lanes[i].socket = pair[0];
		theirs[i] = pair[1];
	}
	return NULL;
}

struct error *open_helper_start(const struct open_helper_options *options)
{
	_cleanup_(helper_destroyp) struct open_helper *h = calloc(1, sizeof(*h));
	int theirs[OPEN_LANES], parent = getpid();
	struct error *err;
	struct stat st;

	if (!h)
		return error_no_memory();
	h->proc = stat("/proc", &st) ? 0 : st.st_dev;
	h->options = *options;
	pthread_mutex_init(&h->lock, NULL);
	for (size_t i = 0; i < OPEN_LANES; i++)
		h->lanes[i].socket = theirs[i] = -1;
	err = make_lanes(h, theirs);
	if (!err) {
		h->pid = fork();
		if (!h->pid)
			open_child_run(options->shed, theirs, parent);
		if (h->pid < 0)
			err = error_errno(ERROR_IO, errno, "cannot fork");
	}
	for (size_t i = 0; i < OPEN_LANES; i++)
		closep(&theirs[i]);
	if (!err)
		helper = take(h);
	return err;
}

#define END_MS 100

void open_helper_stop(void)
{
	struct pollfd end = {.events = POLLIN};

	if (!helper)
		return;
	end.fd = (int)syscall(SYS_pidfd_open, helper->pid, 0);
	kill(helper->pid, SIGKILL);
	/* A thread that waits for a server cannot be killed, so do not wait forever. */
	(void)poll(&end, 1, END_MS);
	(void)waitpid(helper->pid, NULL, WNOHANG);
	closep(&end.fd);
	helper_destroy(take(helper));
}

void open_helper_remove(void)
{
	helper = NULL;
}

void open_helper_hurry(void)
{
	if (helper)
		__atomic_store_n(&helper->in_hurry, true, __ATOMIC_RELAXED);
}

uint64_t open_helper_given_up(void)
{
	return helper ? __atomic_load_n(&helper->given_up, __ATOMIC_RELAXED) : 0;
}

/* --- asking ------------------------------------------------------------------------- */

static bool has_child(void)
{
	return helper && !__atomic_load_n(&helper->is_dead, __ATOMIC_RELAXED);
}

static void lose_child(struct open_helper *h)
{
	__atomic_store_n(&h->is_dead, true, __ATOMIC_RELAXED);
}

/* Read an answer. False with errno set: there will be no answer. */
static bool read_reply(struct open_helper *h, const struct lane *lane,
		       struct open_reply *reply, int *ret_fd)
{
	size_t fd_count;
	ssize_t n = fd_message_receive(lane->socket, reply, sizeof(*reply), ret_fd, 1,
				       &fd_count);

	if (!fd_count)
		*ret_fd = -1;
	if (n >= 0 && n < (ssize_t)sizeof(*reply))
		lose_child(h);
	return n == (ssize_t)sizeof(*reply);
}

static bool is_readable(const struct lane *lane, int timeout_ms)
{
	struct pollfd fd = {.fd = lane->socket, .events = POLLIN};

	return poll(&fd, 1, timeout_ms) > 0;
}

/* Read late answers, which free their lanes. */
static void free_lanes(struct open_helper *h, struct open_reply *late)
{
	for (size_t i = 0; i < OPEN_LANES; i++) {
		struct lane *lane = &h->lanes[i];
		int fd = -1;

		if (!lane->is_hung || !is_readable(lane, 0))
			continue;
		read_reply(h, lane, late, &fd);
		closep(&fd);
		lane->is_hung = lane->is_busy = false;
		h->hung--;
	}
}

/* Take a lane for a call to this file system, or NULL. *ret_ns is the time to wait for
 * the answer. */
static struct lane *take_lane(struct open_helper *h, dev_t system,
			      struct open_reply *late, uint64_t *ret_ns)
{
	struct lane *lane = NULL;

	pthread_mutex_lock(&h->lock);
	if (h->hung)
		free_lanes(h, late);
	*ret_ns = PATIENCE_NS >> h->hung;
	for (size_t i = 0; i < OPEN_LANES; i++) {
		struct lane *at = &h->lanes[i];

		if (at->is_hung && (at->system == system || h->hung == HUNG_MAX)) {
			lane = NULL;
			break;
		}
		if (!at->is_busy && !lane)
			lane = at;
	}
	if (lane)
		lane->is_busy = true;
	pthread_mutex_unlock(&h->lock);
	return lane;
}

static bool await(const struct open_helper *h, const struct lane *lane, uint64_t wait_ns)
{
	uint64_t begin_ns = clock_now_ns();

	for (;;) {
		uint64_t passed_ns;

		if (is_readable(lane, LOOK_MS))
			return true;
		if (__atomic_load_n(&h->in_hurry, __ATOMIC_RELAXED) && wait_ns > HURRY_NS)
			wait_ns = HURRY_NS;
		passed_ns = clock_now_ns() - begin_ns;
		if (passed_ns >= wait_ns)
			return false;
	}
}

static void give_up(struct open_helper *h, const char *path, struct lane *lane,
		    dev_t system)
{
	__atomic_add_fetch(&h->given_up, 1, __ATOMIC_RELAXED);
	if (lane) {
		pthread_mutex_lock(&h->lock);
		lane->is_hung = true;
		lane->system = system;
		h->hung++;
		pthread_mutex_unlock(&h->lock);
		if (h->options.warn)
			h->options.warn(path);
	}
	errno = ETIMEDOUT;
}

/* Send a request to the child, with `fd` (-1: none), and wait. `path` is for the
 * warning. False with errno set: no answer. */
static bool ask(struct open_helper *h, const struct open_request *request, size_t size,
		int fd, dev_t system, const char *path, struct open_reply *reply,
		int *ret_fd)
{
	uint64_t wait_ns;
	struct lane *lane = take_lane(h, system, reply, &wait_ns);
	bool is_answered;
	int err;

	*ret_fd = -1;
	if (!lane) {
		give_up(h, path, NULL, system);
		return false;
	}
	err = fd_message_send(lane->socket, request, size, &fd, fd >= 0);
	if (!err && !await(h, lane, wait_ns)) {
		give_up(h, path, lane, system);
		return false;
	}
	is_answered = !err && read_reply(h, lane, reply, ret_fd);
	if (err)
		lose_child(h);
	err = errno;
	pthread_mutex_lock(&h->lock);
	lane->is_busy = false;
	pthread_mutex_unlock(&h->lock);
	errno = err;
	return is_answered;
}

/* --- which file system -------------------------------------------------------------- */

static void to_stat(const struct statx *from, struct stat *ret)
{
	*ret = (struct stat){
		.st_dev = makedev(from->stx_dev_major, from->stx_dev_minor),
		.st_ino = from->stx_ino,
		.st_mode = from->stx_mode,
		.st_nlink = from->stx_nlink,
		.st_uid = from->stx_uid,
		.st_gid = from->stx_gid,
		.st_rdev = makedev(from->stx_rdev_major, from->stx_rdev_minor),
		.st_size = (off_t)from->stx_size,
		.st_blksize = from->stx_blksize,
		.st_blocks = (blkcnt_t)from->stx_blocks,
		.st_atim = {from->stx_atime.tv_sec, from->stx_atime.tv_nsec},
		.st_mtim = {from->stx_mtime.tv_sec, from->stx_mtime.tv_nsec},
		.st_ctim = {from->stx_ctime.tv_sec, from->stx_ctime.tv_nsec},
	};
}

int open_helper_stat(int fd, const char *path, struct stat *ret)
{
	struct statx stx;

	if (!helper)
		return *path ? fstatat(fd, path, ret, 0) : fstat(fd, ret);
	if (statx(fd, path, AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &stx))
		return -1;
	to_stat(&stx, ret);
	return 0;
}

static dev_t system_by_stat(int fd)
{
	struct stat st;

	return open_helper_stat(fd, "", &st) ? 0 : st.st_dev;
}

/* The file system that the kernel would have to ask: the one with the last directory on
 * the path that is in the kernel's cache. */
static dev_t system_by_path(int root_fd, const char *path, uint64_t resolve)
{
	_cleanup_(freep) char *known = strdup(path);

	while (known && *known) {
		_cleanup_(closep) int place =
			open_call_find(root_fd, known, 0, resolve | RESOLVE_CACHED);
		char *slash = strrchr(known, '/');

		if (place >= 0)
			return system_by_stat(place);
		if (!slash)
			break;
		/* "/" is tried last. */
		slash[slash == known && slash[1]] = '\0';
	}
	return root_fd == AT_FDCWD ? 0 : system_by_stat(root_fd);
}

/* Can the call be made without asking a server? True on block devices (only root can
 * mount FUSE on one, fuseblk) and in /proc, where the child may not open files. */
static bool is_local(int fd)
{
	dev_t system = system_by_stat(fd);

	return major(system) || system == helper->proc;
}

static const char *name_of(int fd, char ret[PATH_MAX])
{
	char link[32];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, ret, PATH_MAX - 1);
	ret[n > 0 ? n : 0] = '\0';
	return ret;
}

/* Send a request about a descriptor. */
static bool ask_about(uint32_t kind, int fd, uint64_t flags, struct open_reply *reply,
		      int *ret_fd)
{
	const struct open_request request = {.kind = kind, .has_fd = 1, .flags = flags};
	char name[PATH_MAX];

	return ask(helper, &request, offsetof(struct open_request, path) + 1, fd,
		   system_by_stat(fd), name_of(fd, name), reply, ret_fd);
}

int open_helper_find(int root_fd, const char *path, uint64_t flags, uint64_t resolve)
{
	struct open_request request = {
		.kind = OPEN_FIND,
		.has_fd = root_fd != AT_FDCWD,
		.flags = flags,
		.resolve = resolve,
	};
	size_t length = strlen(path);
	struct open_reply reply;
	int place;

	if (!has_child())
		return open_call_find(root_fd, path, flags, resolve);
	/* EINVAL: kernels before Linux 5.12 do not know RESOLVE_CACHED. */
	place = open_call_find(root_fd, path, flags, resolve | RESOLVE_CACHED);
	if (place >= 0 || (errno != EAGAIN && errno != EINVAL))
		return place;
	if (length >= sizeof(request.path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(request.path, path, length + 1);
	if (!ask(helper, &request, offsetof(struct open_request, path) + length + 1,
		 request.has_fd ? root_fd : -1, system_by_path(root_fd, path, resolve),
		 path, &reply, &place))
		return has_child() ? -1 : open_call_find(root_fd, path, flags, resolve);
	if (place < 0)
		errno = (int)-reply.result;
	return place;
}

int open_helper_reopen(int place, int flags)
{
	struct open_reply reply;
	int fd;

	if (!has_child() || is_local(place))
		return open_call_reopen(place, flags);
	if (!ask_about(OPEN_REOPEN, place, (uint64_t)flags, &reply, &fd))
		return has_child() ? -1 : open_call_reopen(place, flags);
	if (fd < 0)
		errno = (int)-reply.result;
	return fd;
}

uint64_t open_helper_system(int fd)
{
	struct open_reply reply;
	int none;

	if (!has_child() || is_local(fd))
		return open_call_system(fd);
	if (!ask_about(OPEN_SYSTEM, fd, 0, &reply, &none))
		return has_child() ? 0 : open_call_system(fd);
	return reply.system;
}

bool open_helper_may_hang(int place)
{
	uint64_t system = open_helper_system(place);

	return !system || open_call_is_of_server(system);
}

ssize_t open_helper_readlink(int place, char *ret, size_t size)
{
	struct open_reply reply;
	int none;

	if (!has_child() || is_local(place))
		return readlinkat(place, "", ret, size);
	if (!ask_about(OPEN_READLINK, place, 0, &reply, &none))
		return has_child() ? -1 : readlinkat(place, "", ret, size);
	if (reply.result < 0) {
		errno = (int)-reply.result;
		return -1;
	}
	if ((size_t)reply.result < size)
		size = (size_t)reply.result;
	memcpy(ret, reply.text, size);
	return (ssize_t)size;
}
