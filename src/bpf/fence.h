/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits for BPF programs that are running, by an update of a map of maps: the kernel
 * returns from it when all of them have ended (since Linux 5.0). docs/mechanisms.md,
 * "Kernel calls that wait", cites it.
 */
#ifndef BPF_FENCE_H
#define BPF_FENCE_H

#include <pthread.h>
#include <stdbool.h>

struct fence {
	int outer, inner; /* maps of one element; -1: could not be created */
	/* For fence_begin(): */
	pthread_t thread;
	/* false: no thread could be created, fence_begin() itself waited */
	bool has_thread;
	bool has_failed;
};

/* Create a fence. On failure it is unusable, and fence_wait() returns false. */
void fence_open(struct fence *ret);
void fence_close(struct fence *fence);

/* Wait until each program that was running at the time of the call has ended. Its writes
 * are visible then, and it no longer uses what it has read. Takes some milliseconds.
 * Returns false if the wait failed. */
bool fence_wait(const struct fence *fence);

/* Start fence_wait() in a background thread. Only one wait at a time. */
void fence_begin(struct fence *fence);

/* Wait until the wait that fence_begin() started is over. Returns false if that wait
 * failed; true if none was started. */
bool fence_end(struct fence *fence);

/* In a forked child, which lacks the thread: wait in its place. */
void fence_cut_off(struct fence *fence);

#endif
