/* SPDX-License-Identifier: Apache-2.0 */
/* What of the kernel's own allocations is traced, and what is known of its code. */
#ifndef BPF_KERNEL_TRACE_H
#define BPF_KERNEL_TRACE_H

#include <stdint.h>

#include "bpf/kernel_points.h"
#include "util/vec.h"

/* Functions whose frames say what a stack is of. */
enum kernel_place {
	KERNEL_PLACE_SLAB,      /* the slab allocator asks for pages */
	KERNEL_PLACE_PERCPU,    /* the per-CPU allocator does */
	KERNEL_PLACE_VMALLOC,   /* vmalloc does, and for addresses */
	KERNEL_PLACE_INTERRUPT, /* a thread was interrupted */
	KERNEL_PLACE_TRACE,     /* the kernel is about to run a program of ours */
	KERNEL_PLACE_COUNT,
};

/* Code of the kernel; end exclusive. */
struct kernel_range {
	uint64_t start, end;
};

struct kernel_trace {
	int pid; /* only what is allocated on behalf of this process; 0: everything */
	/* By /proc/kallsyms; none where that hides addresses. Then pages of a slab are
	 * counted twice, vmalloc is not seen, and interrupts are not told from what they
	 * interrupt. */
	VEC(struct kernel_range) places[KERNEL_PLACE_COUNT];
};

static inline void kernel_trace_deinit(struct kernel_trace *trace)
{
	for (int i = 0; i < KERNEL_PLACE_COUNT; i++)
		vec_deinit(&trace->places[i]);
}

#endif
