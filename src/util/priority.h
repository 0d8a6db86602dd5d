/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A higher priority, for work that does not read what a traced process has written:
 * docs/performance.md, "Crowded machines". The nice value (sched(7)) is such that a
 * thread gets about half of a processor if up to 80 others wait for it; beyond that, as
 * much as -20 gives. Nothing changes where few threads wait, without CAP_SYS_NICE, and if
 * the user has chosen another nice value or a real-time priority.
 */
#ifndef UTIL_PRIORITY_H
#define UTIL_PRIORITY_H

#include <stdbool.h>

struct priority {
	int before;     /* nice value */
	bool had_reset; /* SCHED_RESET_ON_FORK, before */
	bool is_changed;
};

/* Raise the priority of the calling thread. Threads and processes that it starts then
 * have nice value 0. */
void priority_raise(struct priority *ret);

/* Go back from a raised priority to nice value 0, for work in between that depends on a
 * traced process. */
void priority_lower(struct priority *ret);

/* Go back to the priority before priority_raise() or priority_lower(), in the same
 * thread. */
void priority_restore(const struct priority *priority);

/* clone(2), for a task that keeps the priority of the calling thread, also a raised one.
 */
int priority_clone(int (*run)(void *arg), void *stack, int flags, void *arg);

/* The nice value for the threads that run or wait now; 0: so few that the priority stays
 * as it is. */
int priority_wanted(void);

/* The same for `runnable` threads on `processors` processors. */
int priority_nice(unsigned long runnable, unsigned long processors);

#endif
