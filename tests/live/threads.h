/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of a process, as /proc/PID/task shows them. */
#ifndef LIVE_THREADS_H
#define LIVE_THREADS_H

#include <sys/types.h>

struct thread_sums {
	unsigned count;      /* threads, including the main thread */
	unsigned renice;     /* threads whose nice value is not 0 */
	double others_cpu_s; /* processor time of all threads except the main thread */
	double main_cpu_s;   /* processor time of the main thread */
	/* How often a thread slept and was woken: voluntary context switches. */
	unsigned long wakeups;
	unsigned long faults; /* page faults without input or output */
};

/* All zero if the process has ended. */
struct thread_sums threads_sum(pid_t pid);

/* The number of threads with a higher priority than usual (a nice value below 0).
 * `names`: only threads with one of these names, ended by NULL; NULL: all. */
unsigned threads_raised(pid_t pid, const char *const names[]);

/* Stop the first thread of this name (its comm) with ptrace(2), and return its id. The
 * thread stays stopped until thread_continue(), or until this test ends. The test fails
 * if it does not find the thread. */
pid_t thread_stop(pid_t pid, const char *name);
void thread_continue(pid_t tid);

#endif
