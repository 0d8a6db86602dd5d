/* SPDX-License-Identifier: Apache-2.0 */
/* The time that a process waited for a processor, because the machine was busy with other
 * processes. */
#ifndef LIVE_CPU_WAIT_H
#define LIVE_CPU_WAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define CPU_WAIT_TASKS 256

struct cpu_wait {
	pid_t pid;
	struct cpu_wait_task {
		pid_t tid;
		unsigned long long first_ns, last_ns;
	} tasks[CPU_WAIT_TASKS];
	size_t count;
	bool is_counted; /* false: the kernel does not count the waiting time */
};

/* Begin to count the time of all threads of `pid` and its children, and of the calling
 * process, which may see the end of `pid` late. */
void cpu_wait_begin(struct cpu_wait *wait, pid_t pid);

/* Call this often: what threads wait between the last call and their exit is lost. */
void cpu_wait_look(struct cpu_wait *wait);

/* The sum over all threads so far, s. */
double cpu_wait_s(const struct cpu_wait *wait);

#endif
