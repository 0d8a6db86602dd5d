/* SPDX-License-Identifier: Apache-2.0 */
/* The process that tracers are measured on: target.c, or allocations.c. What fails ends
 * the bench. */
#ifndef BENCH_TARGET_PROCESS_H
#define BENCH_TARGET_PROCESS_H

#include <stdint.h>

#include "child.h"

struct target {
	struct child child;
	/* Where tracers put their first probe and their last one. */
	uint64_t malloc_address, munmap_address;
};

/* Start target.c. */
struct target target_start(void);
/* Start allocations.c with the shared library `preload` in LD_PRELOAD; NULL: none. */
struct target target_start_allocations(const char *preload);
/* It executes its program again. */
void target_exec(struct target *target);
void target_stop(struct target *target);

/* The ns of a pair of malloc and free, as the target measured it. */
double target_pairs(struct target *target, unsigned long count, unsigned depth);
/* The same by turns from two places: no walk of the stack is as the last one was. */
double target_walks(struct target *target, unsigned long count, unsigned depth);
/* Leave `count` blocks live, made in `stacks` call paths. */
void target_fill(struct target *target, unsigned long count, unsigned stacks);
/* Of allocations.c: the ns of an operation by its name there. */
double target_allocate(struct target *target, const char *operation, unsigned long count);

#endif
