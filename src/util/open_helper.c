// SPDX-License-Identifier: Apache-2.0
#include "util/open_helper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/cleanup.h"
#include "util/clock.h"
#include "util/fd_message.h"

/* include/uapi/linux/openat2.h, Linux 5.12 */
#ifndef RESOLVE_CACHED
#define RESOLVE_CACHED 0x20
#endif

/* include/uapi/linux/magic.h, newer than some headers that we build with */
#define FUSE_NUMBER 0x65735546
#define CEPH_NUMBER 0x00c36400
#define CIFS_NUMBER 0xff534d42
#define SMB2_NUMBER 0xfe534d42

/* Concurrent calls. Each file system that does not answer occupies one of them, and
 * each of our threads makes one call at a time. */
#define LANES    7
#define HUNG_MAX 4

/* Time to wait for the first file system that does not answer. Each further one gets
 * half of the previous one's time, so the total is below twice this time. */
#define PATIENCE_NS UINT64_C(4000000000)
#define HURRY_NS    UINT64_C(300000000)
#define LOOK_MS     50

/* If anything in the system is renamed while the kernel follows "..", it fails with
 * EAGAIN (openat2(2)). */
#define TRIES_MAX 16

/* Bounds on reading a file on a network ahead, so that the kernel caches it. */
#define WARM_MAX_BYTES ((size_t)64 << 20)
#define WARM_MAX_NS    UINT64_C(1000000000)
#define WARM_BYTES     ((size_t)256 << 10)

/* The child's lanes are the descriptors from this one on. */
#define FIRST_LANE 3

/* Stack of each thread of the child; it holds a request and a reply. */
#define STACK_BYTES ((size_t)256 << 10)

enum kind {
	KIND_FIND,
	KIND_REOPEN,
	KIND_SYSTEM,
	KIND_READLINK,
};

struct request {
	uint32_t kind;
	uint32_t has_fd;
	uint64_t flags, resolve;
	char path[PATH_MAX];
};

struct reply {
	int64_t result; /* a length or 0, or a negative errno value */
	uint64_t system;
	char text[PATH_MAX];
};

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
	struct lane lanes[LANES];
	unsigned hung;
	bool in_hurry;     /* accessed atomically */
	bool is_dead;      /* the child has exited; accessed atomically */
	uint64_t given_up; /* accessed atomically */
};

/* One per process, like the table of descriptors. */
static struct open_helper *helper;

/* --- the calls ---------------------------------------------------------------------- */

static int find(int root_fd, const char *path, uint64_t flags, uint64_t resolve)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | flags,
		.resolve = resolve,
	};
	int place = -1;

	for (int i = 0; i < TRIES_MAX; i++) {
		place = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
		if (place >= 0 || errno != EAGAIN || resolve & RESOLVE_CACHED)
			break;
	}
	return place;
}

static int reopen(int place, int flags)
{
	char link[32];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", place);
	return open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);
}

static uint64_t system_of(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) ? 0 : (uint32_t)fs.f_type;
}

/* --- the child ---------------------------------------------------------------------- */

static bool has_server(int fd)
{
	static const uint64_t systems[] = {
		FUSE_NUMBER, NFS_SUPER_MAGIC, SMB_SUPER_MAGIC,
		CIFS_NUMBER, SMB2_NUMBER,     CEPH_NUMBER,
		V9FS_MAGIC,  AFS_SUPER_MAGIC, CODA_SUPER_MAGIC,
	};
	uint64_t system = system_of(fd);

	for (size_t i = 0; i < sizeof(systems) / sizeof(*systems); i++)
		if (system == systems[i])
			return true;
	return false;
}

/* Read the beginning of the file, as long as this is fast. */
static void warm(int fd)
{
	uint64_t begin_ns = clock_now_ns();
	_cleanup_(freep) char *bytes = malloc(WARM_BYTES);

	for (size_t at = 0; bytes && at < WARM_MAX_BYTES; at += WARM_BYTES) {
		if (pread(fd, bytes, WARM_BYTES, (off_t)at) < (ssize_t)WARM_BYTES ||
		    clock_now_ns() - begin_ns > WARM_MAX_NS)
			return;
	}
}

/* Returns a descriptor to send, or -1. */
static int answer(const struct request *request, int fd, struct reply *reply)
{
	ssize_t size = 0;
	int result = -1;

	*reply = (struct reply){.result = 0};
	switch (request->kind) {
	case KIND_FIND:
		result = find(request->has_fd ? fd : AT_FDCWD, request->path,
			      request->flags, request->resolve);
		break;
	case KIND_REOPEN:
		result = reopen(fd, (int)request->flags);
		if (result >= 0 && !request->flags && has_server(result))
			warm(result);
		break;
	case KIND_SYSTEM:
		reply->system = system_of(fd);
		return -1;
	default:
		size = readlinkat(fd, "", reply->text, sizeof(reply->text));
		reply->result = size < 0 ? -errno : size;
		return -1;
	}
	if (result < 0)
		reply->result = -errno;
	return result;
}

/* One thread for each lane: if one waits for a file system the others go on. */
static void *serve(void *arg)
{
	int lane = (int)(intptr_t)arg;
	struct request request;
	struct reply reply;

	for (;;) {
		int fd = -1;
		size_t fd_count;
		ssize_t n = fd_message_receive(lane, &request, sizeof(request), &fd, 1,
					       &fd_count);

		if (n < 0 && errno == EMFILE) {
			reply = (struct reply){.result = -EMFILE};
			fd_message_send(lane, &reply, sizeof(reply), NULL, 0);
			continue;
		}
		if (n <= 0)
			_exit(0); /* the parent has exited or closed the lane */
		request.path[sizeof(request.path) - 1] = '\0';

		_cleanup_(closep) int given = fd;
		_cleanup_(closep) int result = answer(&request, given, &reply);

		if (fd_message_send(lane, &reply, sizeof(reply), &result, result >= 0))
			_exit(0);
	}
	return NULL;
}

/* Close all descriptors except the lanes, which are moved to FIRST_LANE and above. */
static void keep_only(const int lanes[LANES])
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), high[LANES];

	for (int i = 0; i < LANES; i++)
		high[i] = fcntl(lanes[i], F_DUPFD_CLOEXEC, FIRST_LANE + LANES);
	for (int fd = 0; fd < FIRST_LANE; fd++)
		dup2(null, fd);
	for (int i = 0; i < LANES; i++)
		dup2(high[i], FIRST_LANE + i);
	syscall(SYS_close_range, FIRST_LANE + LANES, ~0U, 0);
}

_Noreturn static void run_child(const struct open_helper_options *options,
				const int lanes[LANES], int parent)
{
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1};
	pthread_attr_t attributes;
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1); /* the parent has exited already */
	prctl(PR_SET_NAME, "memtrace-open");
	/* Ctrl-C signals the whole process group; the parent decides when the child
	 * exits. */
	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_IGN);
	keep_only(lanes);
	if (options->shed)
		options->shed();
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	for (intptr_t i = 1; i < LANES; i++)
		if (pthread_create(&thread, &attributes, serve, (void *)(FIRST_LANE + i)))
			_exit(1);
	serve((void *)(intptr_t)FIRST_LANE);
	_exit(0);
}

/* --- start and end ------------------------------------------------------------------ */

static void helper_destroy(struct open_helper *h)
{
	if (!h)
		return;
	for (size_t i = 0; i < LANES; i++)
		closep(&h->lanes[i].socket);
	pthread_mutex_destroy(&h->lock);
	free(h);
}

DEFINE_CLEANUP(struct open_helper *, helper_destroy);

static struct error *make_lanes(struct open_helper *h, int theirs[LANES])
{
	for (size_t i = 0; i < LANES; i++) {
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
	int theirs[LANES], parent = getpid();
	struct error *err;
	struct stat st;

	if (!h)
		return error_no_memory();
	h->proc = stat("/proc", &st) ? 0 : st.st_dev;
	h->options = *options;
	pthread_mutex_init(&h->lock, NULL);
	for (size_t i = 0; i < LANES; i++)
		h->lanes[i].socket = theirs[i] = -1;
	err = make_lanes(h, theirs);
	if (!err) {
		h->pid = fork();
		if (!h->pid)
			run_child(options, theirs, parent);
		if (h->pid < 0)
			err = error_errno(ERROR_IO, errno, "cannot fork");
	}
	for (size_t i = 0; i < LANES; i++)
		closep(&theirs[i]);
	if (!err)
		helper = take(h);
	return err;
}

#define END_TRIES   20
#define END_WAIT_US 5000

void open_helper_stop(void)
{
	if (!helper)
		return;
	kill(helper->pid, SIGKILL);
	/* A thread that waits for a server cannot be killed, so do not wait forever. */
	for (int i = 0; i < END_TRIES && !waitpid(helper->pid, NULL, WNOHANG); i++)
		usleep(END_WAIT_US);
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
		       struct reply *reply, int *ret_fd)
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
static void free_lanes(struct open_helper *h, struct reply *late)
{
	for (size_t i = 0; i < LANES; i++) {
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
static struct lane *take_lane(struct open_helper *h, dev_t system, struct reply *late,
			      uint64_t *ret_ns)
{
	struct lane *lane = NULL;

	pthread_mutex_lock(&h->lock);
	if (h->hung)
		free_lanes(h, late);
	*ret_ns = PATIENCE_NS >> h->hung;
	for (size_t i = 0; i < LANES; i++) {
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
static bool ask(struct open_helper *h, const struct request *request, size_t size, int fd,
		dev_t system, const char *path, struct reply *reply, int *ret_fd)
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
			find(root_fd, known, 0, resolve | RESOLVE_CACHED);
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
static bool ask_about(uint32_t kind, int fd, uint64_t flags, struct reply *reply,
		      int *ret_fd)
{
	const struct request request = {.kind = kind, .has_fd = 1, .flags = flags};
	char name[PATH_MAX];

	return ask(helper, &request, offsetof(struct request, path) + 1, fd,
		   system_by_stat(fd), name_of(fd, name), reply, ret_fd);
}

int open_helper_find(int root_fd, const char *path, uint64_t flags, uint64_t resolve)
{
	struct request request = {
		.kind = KIND_FIND,
		.has_fd = root_fd != AT_FDCWD,
		.flags = flags,
		.resolve = resolve,
	};
	size_t length = strlen(path);
	struct reply reply;
	int place;

	if (!has_child())
		return find(root_fd, path, flags, resolve);
	/* EINVAL: kernels before Linux 5.12 do not know RESOLVE_CACHED. */
	place = find(root_fd, path, flags, resolve | RESOLVE_CACHED);
	if (place >= 0 || (errno != EAGAIN && errno != EINVAL))
		return place;
	if (length >= sizeof(request.path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(request.path, path, length + 1);
	if (!ask(helper, &request, offsetof(struct request, path) + length + 1,
		 request.has_fd ? root_fd : -1, system_by_path(root_fd, path, resolve),
		 path, &reply, &place))
		return has_child() ? -1 : find(root_fd, path, flags, resolve);
	if (place < 0)
		errno = (int)-reply.result;
	return place;
}

int open_helper_reopen(int place, int flags)
{
	struct reply reply;
	int fd;

	if (!has_child() || is_local(place))
		return reopen(place, flags);
	if (!ask_about(KIND_REOPEN, place, (uint64_t)flags, &reply, &fd))
		return has_child() ? -1 : reopen(place, flags);
	if (fd < 0)
		errno = (int)-reply.result;
	return fd;
}

uint64_t open_helper_system(int fd)
{
	struct reply reply;
	int none;

	if (!has_child() || is_local(fd))
		return system_of(fd);
	if (!ask_about(KIND_SYSTEM, fd, 0, &reply, &none))
		return has_child() ? 0 : system_of(fd);
	return reply.system;
}

ssize_t open_helper_readlink(int place, char *ret, size_t size)
{
	struct reply reply;
	int none;

	if (!has_child() || is_local(place))
		return readlinkat(place, "", ret, size);
	if (!ask_about(KIND_READLINK, place, 0, &reply, &none))
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
