/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the kernel's own allocations to trace, and the kernel functions that classify
 * them. */
#ifndef KERNEL_HEAP_KERNEL_TRACE_H
#define KERNEL_HEAP_KERNEL_TRACE_H

#include <stdint.h>

#include "kernel_heap/kernel_points.h"
#include "util/vec.h"

/* Kinds of kernel functions. A frame in one of them tells what a stack belongs to. */
enum kernel_place {
	KERNEL_PLACE_SLAB,      /* the slab allocator requests pages */
	KERNEL_PLACE_PERCPU,    /* the per-CPU allocator requests pages */
	KERNEL_PLACE_VMALLOC,   /* vmalloc requests pages or addresses */
	KERNEL_PLACE_INTERRUPT, /* a thread was interrupted */
	KERNEL_PLACE_TRACE,     /* the kernel is about to run a BPF program of memtrace */
	KERNEL_PLACE_COUNT,
};

/* Kernel code; end exclusive. */
struct kernel_range {
	uint64_t start, end;
};

struct kernel_trace {
	int pid; /* trace only allocations on behalf of this process; 0: all */
	/* From /proc/kallsyms; empty if it hides addresses. Then pages of slabs are
	 * counted twice, vmalloc is not seen, and allocations in interrupts are
	 * attributed to the interrupted thread. */
	VEC(struct kernel_range) places[KERNEL_PLACE_COUNT];
};

static inline void kernel_trace_deinit(struct kernel_trace *trace)
{
	for (int i = 0; i < KERNEL_PLACE_COUNT; i++)
		vec_deinit(&trace->places[i]);
}

#endif
