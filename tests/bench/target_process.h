/* SPDX-License-Identifier: Apache-2.0 */
/* The process that tracers are measured on: target.c or allocations.c. Any failure ends
 * the bench. */
#ifndef BENCH_TARGET_PROCESS_H
#define BENCH_TARGET_PROCESS_H

#include <stdint.h>

#include "child.h"

struct target {
	struct child child;
	/* The functions that get the tracers' first and last probe. */
	uint64_t malloc_address, munmap_address;
};

/* Start target.c. */
struct target target_start(void);
/* Start allocations.c with the shared library `preload` in LD_PRELOAD; NULL: with
 * none. */
struct target target_start_allocations(const char *preload);
/* Let it execute its program again. */
void target_exec(struct target *target);
void target_stop(struct target *target);

/* The ns of a pair of malloc and free, measured by the target. */
double target_pairs(struct target *target, unsigned long count, unsigned depth);
/* The same, alternating between two call sites: no stack equals the previous one. */
double target_walks(struct target *target, unsigned long count, unsigned depth);
/* The median ns of a pair, 11 of them `count` times, a sleep of a millisecond apart. */
double target_bursts(struct target *target, unsigned long count, unsigned depth);
/* Leak `count` blocks from `stacks` call paths. */
void target_fill(struct target *target, unsigned long count, unsigned stacks);
/* For allocations.c: the ns of an operation, by its name there. */
double target_allocate(struct target *target, const char *operation, unsigned long count);

#endif
