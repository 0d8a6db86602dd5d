/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notices when the main thread is stuck in a read that does not end, which no signal
 * interrupts (docs/security.md, "Size"). /proc/self/task/TID/syscall
 * (proc_pid_syscall(5)) has the number and the arguments of the system call that a thread
 * waits in, and its stack pointer. While they stay the same, it is the same call. Waiting
 * for a reader of the output, for a child's answer or for a processor does not count.
 */
#ifndef PROGRESS_STUCK_H
#define PROGRESS_STUCK_H

#include <stdbool.h>
#include <stdint.h>

#include "util/strbuf.h"

struct stuck {
	int tid;            /* the thread */
	char call[256];     /* what it waited in when looked at last */
	uint64_t worked_ns; /* processor time of the task that it waits for, or 0 */
	uint64_t looked_ns; /* last call, CLOCK_MONOTONIC; 0: not stuck then */
	uint64_t stuck_ns;  /* time in this call that was seen */
};

/* Look at the main thread. Returns how long it has been stuck in one read, ns, as far as
 * earlier calls have seen it; 0: it is not. Call it at least every two seconds: of a
 * longer time between two calls only two seconds count, since memtrace itself may have
 * been stopped. */
uint64_t stuck_look(struct stuck *stuck);

/* The same for the other threads but the calling one: for the one that has been stuck in
 * a read, or any. The main thread may go on meanwhile. */
uint64_t stuck_look_at_others(struct stuck *stuck);

/* Is the main thread in the call that was seen last? */
bool stuck_is_in_call(const struct stuck *stuck);

/* The registers of the main thread while it is in a call. */
struct stuck_at {
	uint64_t sp; /* stack pointer; 0: not known */
	uint64_t pc; /* address of the next instruction; after a page fault, of the one
			that caused it */
};

/* The registers in the call that was seen last. */
struct stuck_at stuck_place(const struct stuck *stuck);

/* Append what it waits for: "the file PATH", or "the memory of process N". */
void stuck_describe(const struct stuck *stuck, struct strbuf *ret);

#endif
