/* SPDX-License-Identifier: Apache-2.0 */
/* The time that a thread waits for a processor because other threads run. */
#ifndef UTIL_CPU_QUEUE_H
#define UTIL_CPU_QUEUE_H

#include <stdint.h>

/* The time that the calling thread has been runnable without running, since it started,
 * ns. 0 if the kernel does not count it (CONFIG_SCHED_INFO). */
uint64_t cpu_queue_ns(void);

#endif
