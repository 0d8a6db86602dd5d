/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of a process, as /proc/PID/task shows them. */
#ifndef LIVE_THREADS_H
#define LIVE_THREADS_H

#include <sys/types.h>

struct thread_sums {
	unsigned count;      /* of threads, the main thread too */
	unsigned renice;     /* of them, those whose nice value is not 0 */
	double others_cpu_s; /* processor time of all threads but the main thread */
	double main_cpu_s;   /* and of the main thread */
	/* How often a thread was waiting and was woken: its voluntary context switches. */
	unsigned long wakeups;
};

/* A process that has gone has none. */
struct thread_sums threads_sum(pid_t pid);

#endif
