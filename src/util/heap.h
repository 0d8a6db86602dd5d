/* SPDX-License-Identifier: Apache-2.0 */
/* How malloc keeps free memory. */
#ifndef UTIL_HEAP_H
#define UTIL_HEAP_H

/*
 * Let malloc keep up to 8 MiB of free memory, and use it also for arrays of up to 1 MiB.
 * Otherwise glibc gives arrays of 128 KiB and more back at once, and each new one costs
 * page faults, which are dear in virtual machines: finding the probes' places in
 * jemalloc, with some arrays for each of its functions, took 1.7 times as long. Call it
 * once, at the start.
 */
void heap_keep_some(void);

/*
 * Let malloc keep nearly all free memory, for a process that soon needs as much again:
 * otherwise the page faults of a large snapshot take longer than the snapshot itself.
 * malloc_trim() still returns it.
 */
void heap_keep_all(void);

#endif
