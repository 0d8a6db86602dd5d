/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When to trace a process of --wait-for again whose run has failed. Any user can start
 * processes of that name that cannot be traced. They must neither make memtrace start one
 * run after the other, nor keep the process that the user means from being traced.
 */
#ifndef SESSION_RETRIES_H
#define SESSION_RETRIES_H

#include <stddef.h>
#include <stdint.h>

/* If more processes have failed, the entry that is due first is replaced. Then the next
 * run begins 1 s later, and processes without a failure take turns. */
#define RETRIES_MAX 256

struct retry {
	int pid;
	uint64_t pause_ns; /* after the last failure */
	uint64_t at_ns;    /* CLOCK_MONOTONIC */
};

/* Zeroed: no run has failed. */
struct retries {
	struct retry list[RETRIES_MAX];
	size_t count;
	uint64_t next_ns; /* no run begins before that time */
	int last_pid;     /* the last chosen process that had no failure */
};

/* The run of the process has failed. It waits 1 s, and after each further failure twice
 * as long, up to 60 s. */
void retries_failed(struct retries *retries, int pid, uint64_t now_ns);

/* The run of the process has not failed: remove its entry, if it has one. */
void retries_remove(struct retries *retries, int pid);

/* The process to trace: the next one without a failure, or else the one that has been
 * due longest. 0: none is due. `pids` are ascending. */
int retries_choose(struct retries *retries, const int pids[], size_t count,
		   uint64_t now_ns);

#endif
