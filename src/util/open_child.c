// SPDX-License-Identifier: Apache-2.0
#include "util/open_child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "util/cleanup.h"
#include "util/clock.h"
#include "util/fd_message.h"

/* include/uapi/linux/magic.h, newer than some headers that we build with */
#define FUSE_NUMBER 0x65735546
#define CEPH_NUMBER 0x00c36400
#define CIFS_NUMBER 0xff534d42
#define SMB2_NUMBER 0xfe534d42

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

int open_call_find(int root_fd, const char *path, uint64_t flags, uint64_t resolve)
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

int open_call_reopen(int place, int flags)
{
	char link[32];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", place);
	return open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);
}

uint64_t open_call_system(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) ? 0 : (uint32_t)fs.f_type;
}

bool open_call_is_of_server(uint64_t system)
{
	static const uint64_t systems[] = {
		FUSE_NUMBER, NFS_SUPER_MAGIC, SMB_SUPER_MAGIC,
		CIFS_NUMBER, SMB2_NUMBER,     CEPH_NUMBER,
		V9FS_MAGIC,  AFS_SUPER_MAGIC, CODA_SUPER_MAGIC,
	};
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
static int answer(const struct open_request *request, int fd, struct open_reply *reply)
{
	ssize_t size = 0;
	int result = -1;

	*reply = (struct open_reply){.result = 0};
	switch (request->kind) {
	case OPEN_FIND:
		result = open_call_find(request->has_fd ? fd : AT_FDCWD, request->path,
					request->flags, request->resolve);
		break;
	case OPEN_REOPEN:
		result = open_call_reopen(fd, (int)request->flags);
		if (result >= 0 && !request->flags &&
		    open_call_is_of_server(open_call_system(result)))
			warm(result);
		break;
	case OPEN_SYSTEM:
		reply->system = open_call_system(fd);
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
	struct open_request request;
	struct open_reply reply;

	for (;;) {
		int fd = -1;
		size_t fd_count;
		ssize_t n = fd_message_receive(lane, &request, sizeof(request), &fd, 1,
					       &fd_count);

		if (n < 0 && errno == EMFILE) {
			reply = (struct open_reply){.result = -EMFILE};
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
static void keep_only(const int lanes[OPEN_LANES])
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), high[OPEN_LANES];

	for (int i = 0; i < OPEN_LANES; i++)
		high[i] = fcntl(lanes[i], F_DUPFD_CLOEXEC, FIRST_LANE + OPEN_LANES);
	for (int fd = 0; fd < FIRST_LANE; fd++)
		dup2(null, fd);
	for (int i = 0; i < OPEN_LANES; i++)
		dup2(high[i], FIRST_LANE + i);
	syscall(SYS_close_range, FIRST_LANE + OPEN_LANES, ~0U, 0);
}

_Noreturn void open_child_run(void (*shed)(void), const int lanes[OPEN_LANES], int parent)
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
	if (shed)
		shed();
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	for (intptr_t i = 1; i < OPEN_LANES; i++)
		if (pthread_create(&thread, &attributes, serve, (void *)(FIRST_LANE + i)))
			_exit(1);
	serve((void *)(intptr_t)FIRST_LANE);
	_exit(0);
}
