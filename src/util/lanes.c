// SPDX-License-Identifier: Apache-2.0
#include "util/lanes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "util/budget.h"
#include "util/clock.h"
#include "util/fd_table.h"
#include "util/quiet_thread.h"

#define THREAD_NAME  "memtrace-proc"
#define STACK_BYTES  (128 << 10)
#define BUFFER_BYTES ((size_t)64 << 10)

/* How often a thread that does not answer is looked at, ns. */
#define LOOK_NS UINT64_C(5000000)

/* How long a thread may wait for a lock. The short time is for when many processes hold
 * their locks: all waiting takes a fifth of the time, after a burst of 3 s. */
#define PATIENCE_NS UINT64_C(1000000000)
#define HASTE_NS    UINT64_C(10000000)
#define SHARE       5
#define AHEAD_NS    (3 * SHARE * PATIENCE_NS)

static struct {
	pthread_mutex_t lock;
	pid_t enabled; /* the process that it holds for; accessed atomically */
	bool in_hurry; /* accessed atomically */
	struct budget waiting;
	void (*begin)(void);
	struct lane lanes[LANES_MAX];
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

void lanes_enable(void (*begin)(void))
{
	state.begin = begin;
	__atomic_store_n(&state.enabled, getpid(), __ATOMIC_SEQ_CST);
}

void lanes_hurry(void)
{
	__atomic_store_n(&state.in_hurry, true, __ATOMIC_SEQ_CST);
}

/* --- the threads ------------------------------------------------------------------- */

static bool reserve(struct lane *lane, size_t bytes)
{
	void *buffer;

	if (bytes <= lane->buffer_bytes)
		return true;
	buffer = lane->buffer
			 ? mremap(lane->buffer, lane->buffer_bytes, bytes, MREMAP_MAYMOVE)
			 : mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (buffer == MAP_FAILED)
		return false;
	lane->buffer = buffer;
	lane->buffer_bytes = bytes;
	return true;
}

/* Give back what an unusual process has needed. */
static void shrink(struct lane *lane)
{
	if (lane->buffer_bytes > BUFFER_BYTES &&
	    munmap(lane->buffer + BUFFER_BYTES, lane->buffer_bytes - BUFFER_BYTES) == 0)
		lane->buffer_bytes = BUFFER_BYTES;
}

/* Returns the number of bytes, or -1 with errno set. */
static ssize_t read_whole(struct lane *lane, int fd, size_t limit)
{
	size_t size = 0;
	ssize_t n;

	for (;;) {
		if (!reserve(lane, lane->buffer_bytes == size ? 2 * size + BUFFER_BYTES
							      : lane->buffer_bytes)) {
			errno = ENOMEM;
			return -1;
		}
		n = read(fd, lane->buffer + size, lane->buffer_bytes - size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -1 : (ssize_t)size;
		__atomic_add_fetch(&lane->reads, 1, __ATOMIC_RELAXED);
		size += (size_t)n;
		if (size > limit) {
			errno = EFBIG;
			return -1;
		}
	}
}

static ssize_t read_file(struct lane *lane, const struct lane_request *r)
{
	char entry[8];

	lane->fd = open(r->path, O_RDONLY | O_CLOEXEC);
	if (lane->fd < 0)
		return -1;
	return r->kind == REQUEST_MAPS ? read_whole(lane, lane->fd, r->size)
				       : pread(lane->fd, entry, sizeof(entry), 0);
}

static ssize_t copy_memory(struct lane *lane, const struct lane_request *r)
{
	const struct iovec there = {(void *)(uintptr_t)r->address, r->size};
	struct iovec here = {.iov_len = r->size};

	if (!reserve(lane, r->size)) {
		errno = ENOMEM;
		return -1;
	}
	here.iov_base = lane->buffer;
	return process_vm_readv(r->tid, &here, 1, &there, 1, 0);
}

static void perform(struct lane *lane)
{
	const struct lane_request *r = &lane->request;

	lane->fd = -1;
	errno = 0;
	switch (r->kind) {
	case REQUEST_OPEN:
		lane->result = lane->fd = open(r->path, r->flags);
		break;
	case REQUEST_MEMORY:
		lane->result = copy_memory(lane, r);
		break;
	case REQUEST_MAPS:
	case REQUEST_TOUCH:
		lane->result = read_file(lane, r);
		break;
	}
	lane->errnum = errno;
}

/* Nobody waits for the answer any more. */
static void discard(struct lane *lane)
{
	if (lane->fd >= 0) {
		fd_table_hold();
		close(lane->fd);
		fd_table_release();
	}
	shrink(lane);
}

static void *serve(void *arg)
{
	struct lane *lane = arg;

	pthread_setname_np(pthread_self(), THREAD_NAME);
	if (state.begin)
		state.begin();
	pthread_mutex_lock(&state.lock);
	lane->tid = (int)syscall(SYS_gettid);
	for (;;) {
		while (lane->state != LANE_ASKED)
			pthread_cond_wait(&lane->asked, &state.lock);
		pthread_mutex_unlock(&state.lock);
		perform(lane);
		pthread_mutex_lock(&state.lock);
		if (lane->state == LANE_ASKED) {
			lane->state = LANE_DONE;
			pthread_cond_signal(&lane->answered);
			continue;
		}
		pthread_mutex_unlock(&state.lock);
		discard(lane);
		pthread_mutex_lock(&state.lock);
		lane->state = LANE_IDLE;
	}
	return NULL;
}

static bool start_thread(struct lane *lane)
{
	pthread_attr_t attributes;
	pthread_condattr_t clock;
	pthread_t thread;
	int err;

	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&lane->asked, NULL);
	pthread_cond_init(&lane->answered, &clock);
	pthread_condattr_destroy(&clock);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	err = quiet_thread_start(&thread, &attributes, serve, lane);
	pthread_attr_destroy(&attributes);
	if (!err)
		lane->state = LANE_IDLE;
	return !err;
}

/* An idle thread. NULL: none, *ret_held says whether others wait. */
static struct lane *pick(bool *ret_held)
{
	*ret_held = false;
	for (size_t i = 0; i < LANES_MAX; i++) {
		struct lane *lane = &state.lanes[i];

		if (lane->state == LANE_IDLE ||
		    (lane->state == LANE_NONE && start_thread(lane)))
			return lane;
		*ret_held |= lane->state == LANE_ABANDONED;
		if (lane->state == LANE_NONE)
			return NULL;
	}
	return NULL;
}

/* --- asking ------------------------------------------------------------------------ */

/* Does an earlier call with this key still wait? */
static bool is_held(int key)
{
	for (size_t i = 0; i < LANES_MAX && state.lanes[i].state != LANE_NONE; i++)
		if (state.lanes[i].state == LANE_ABANDONED && state.lanes[i].key == key)
			return true;
	return false;
}

/* Does the thread sleep? Otherwise it reads, or waits for a processor. */
static bool sleeps(int tid)
{
	char path[48], text[512] = "";
	const char *end;
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	/* "TID (NAME) STATE": proc_pid_stat(5). */
	end = n > 0 ? strrchr(text, ')') : NULL;
	return end && (end[2] == 'D' || end[2] == 'S');
}

static uint64_t patience_ns(void)
{
	return __atomic_load_n(&state.in_hurry, __ATOMIC_SEQ_CST) ||
			       budget_is_spent(&state.waiting, clock_now_ns(), AHEAD_NS)
		       ? HASTE_NS
		       : PATIENCE_NS;
}

/* Wait for the answer, with the lock held. False: it takes too long. */
static bool await(struct lane *lane)
{
	uint64_t begun_ns = clock_now_ns(), since_ns = begun_ns, now_ns = begun_ns;
	uint64_t reads = 0, before = 0;
	int tid;

	while (lane->state == LANE_ASKED) {
		const struct timespec until = {
			.tv_sec = (time_t)((now_ns + LOOK_NS) / 1000000000),
			.tv_nsec = (long)((now_ns + LOOK_NS) % 1000000000),
		};
		bool is_late = pthread_cond_timedwait(&lane->answered, &state.lock,
						      &until) == ETIMEDOUT;

		now_ns = clock_now_ns();
		if (!is_late)
			continue;
		tid = lane->tid;
		pthread_mutex_unlock(&state.lock);
		reads = __atomic_load_n(&lane->reads, __ATOMIC_RELAXED);
		if (reads != before || !sleeps(tid))
			since_ns = now_ns;
		before = reads;
		pthread_mutex_lock(&state.lock);
		if (lane->state == LANE_ASKED && now_ns - since_ns >= patience_ns()) {
			budget_spend(&state.waiting, begun_ns, now_ns - begun_ns, SHARE);
			return false;
		}
	}
	return true;
}

int lanes_ask(int key, const struct lane_request *request, struct lane **ret)
{
	struct lane *lane;
	bool is_refused;
	int err = 0;

	if (__atomic_load_n(&state.enabled, __ATOMIC_SEQ_CST) != getpid())
		return EAGAIN;
	pthread_mutex_lock(&state.lock);
	is_refused = is_held(key);
	lane = is_refused ? NULL : pick(&is_refused);
	if (!lane) {
		err = is_refused ? ETIMEDOUT : EAGAIN;
	} else {
		lane->key = key;
		lane->request = *request;
		lane->state = LANE_ASKED;
		pthread_cond_signal(&lane->asked);
		if (!await(lane)) {
			lane->state = LANE_ABANDONED;
			err = ETIMEDOUT;
		}
	}
	pthread_mutex_unlock(&state.lock);
	*ret = lane;
	return err;
}

void lanes_release(struct lane *lane)
{
	if (lane->fd >= 0)
		close(lane->fd);
	shrink(lane);
	pthread_mutex_lock(&state.lock);
	lane->state = LANE_IDLE;
	pthread_mutex_unlock(&state.lock);
}

int lanes_take_fd(struct lane *lane)
{
	int fd = lane->fd;

	lane->fd = -1;
	return fd;
}

bool lanes_are_thread(int tid)
{
	bool is = false;

	pthread_mutex_lock(&state.lock);
	for (size_t i = 0; i < LANES_MAX && state.lanes[i].state != LANE_NONE; i++)
		is |= state.lanes[i].tid == tid;
	pthread_mutex_unlock(&state.lock);
	return is;
}
