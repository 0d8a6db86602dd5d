/* SPDX-License-Identifier: Apache-2.0 */
/* What a process and all of its descendants take together. */
#ifndef BENCH_TREE_H
#define BENCH_TREE_H

#include <sys/types.h>

/* Sums over the threads of the processes that run now. */
struct tree_work {
	double wakeups; /* voluntary context switches */
	double cpu_ns;
};

struct tree_work tree_work(pid_t root);

/* Resident memory in KiB. A page that several of the processes share counts once (Pss in
 * /proc/PID/smaps_rollup). */
double tree_kib(pid_t root);

#endif
