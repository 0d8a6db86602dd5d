/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A higher priority, for short work whose length a traced process does not decide. Where
 * hundreds of threads wait for each processor, a second of work would otherwise take a
 * minute. The nice value (sched(7)) is such that the thread gets about half of a
 * processor, and the threads that wait for the same processor the other half. Nothing
 * changes where few threads wait, without CAP_SYS_NICE, and if the user has chosen a
 * lower priority or a real-time one.
 */
#ifndef UTIL_PRIORITY_H
#define UTIL_PRIORITY_H

#include <stdbool.h>

struct priority {
	int before; /* nice value */
	bool is_raised;
};

/* Raise the priority of the calling thread. Threads and processes that it starts then
 * have nice value 0. */
void priority_raise(struct priority *ret);

/* Go back to the priority before priority_raise(), in the same thread. */
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
