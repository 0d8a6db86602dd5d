/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that make system calls which may wait for ever, where only a signal that kills
 * the whole process ends the wait. The caller waits only for a time. A thread that still
 * waits then is left alone. Until it returns, all requests with the same key fail at
 * once. Then it serves again.
 *
 * Threads use no malloc(), so that memtrace can fork meanwhile. Any thread may ask.
 */
#ifndef UTIL_LANES_H
#define UTIL_LANES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* If so many threads wait, no request is served. */
#define LANES_MAX 256

enum lane_request_kind {
	REQUEST_MAPS,   /* read the file at `path` whole, up to `size` bytes */
	REQUEST_OPEN,   /* open `path` with `flags` */
	REQUEST_MEMORY, /* copy `size` bytes from `address` of `tid` */
	REQUEST_TOUCH,  /* take and release the lock: read 8 bytes of `path` */
};

struct lane_request {
	enum lane_request_kind kind;
	char path[96];
	int flags, tid;
	uint64_t address;
	size_t size;
};

enum lane_state {
	LANE_NONE, /* no thread yet */
	LANE_IDLE,
	LANE_ASKED,
	LANE_DONE,      /* the caller takes the answer */
	LANE_ABANDONED, /* the caller has gone, the thread has not returned */
};

/* A thread, and what it is asked for. Private, except the answer. */
struct lane {
	enum lane_state state; /* under the lock */
	pthread_cond_t asked, answered;
	int tid; /* of the thread */
	int key; /* of the request */
	struct lane_request request;
	int fd;         /* opened for the access, or by it; -1: none */
	uint64_t reads; /* parts of a file that were read; accessed atomically */
	ssize_t result; /* number of bytes, or -1 */
	int errnum;
	/* By mmap(2): no other thread may hold a lock of malloc() when memtrace forks. */
	char *buffer;
	size_t buffer_bytes;
};

/* From now on serve requests in this process, not in its children. Each thread first
 * calls `begin`; NULL: nothing. */
void lanes_enable(void (*begin)(void));

/* From now on wait only for some milliseconds. */
void lanes_hurry(void);

/*
 * 0: *ret has the answer, to be given back by lanes_release(). ETIMEDOUT: the call waits,
 * or an earlier one with this key does. EAGAIN: no thread can be started, or
 * lanes_enable() was not called: the caller may make the call itself.
 */
int lanes_ask(int key, const struct lane_request *request, struct lane **ret)
	__attribute__((warn_unused_result));

/* Take the descriptor of an answer. */
int lanes_take_fd(struct lane *lane);

void lanes_release(struct lane *lane);

/* Is it the number of one of the threads? */
bool lanes_are_thread(int tid);

#endif
