// SPDX-License-Identifier: Apache-2.0
#include "util/cpu_queue.h"

#include <inttypes.h>
#include <stdio.h>

#include "util/cleanup.h"

uint64_t cpu_queue_ns(void)
{
	_cleanup_(fclosep) FILE *file = fopen("/proc/thread-self/schedstat", "re");
	uint64_t ns;

	/* Time on a processor, time in run queues, both in ns (the kernel's
	 * Documentation/scheduler/sched-stats.rst). */
	return file && fscanf(file, "%*u %" SCNu64, &ns) == 1 ? ns : 0;
}
