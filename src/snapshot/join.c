// SPDX-License-Identifier: Apache-2.0
#include "snapshot/join.h"

#include <stdlib.h>
#include <string.h>

/* Give new stacks the next numbers. */
static bool number_new(struct snapshot_numbers *numbers, size_t total, uint32_t *next)
{
	while (numbers->list.len < total) {
		if (!vec_push(&numbers->list, *next))
			return false;
		++*next;
	}
	return true;
}

/* Move elements of size `bytes` to the indices in `to`, of `total`; unused elements are
 * 0. */
static bool reorder(void **data, size_t *len, size_t *cap, size_t bytes,
		    const uint32_t to[], size_t total)
{
	char *made = calloc(total + 1, bytes);

	if (!made)
		return false;
	for (size_t i = 0; i < *len; i++)
		memcpy(made + to[i] * bytes, (const char *)*data + i * bytes, bytes);
	free(*data);
	*data = made;
	*len = *cap = total;
	return true;
}

#define REORDER(v, to, total)                                                            \
	reorder((void **)&(v)->data, &(v)->len, &(v)->cap, sizeof(*(v)->data), (to),     \
		(total))

static void renumber(struct snapshot *snap, enum block_class class, const uint32_t to[])
{
	vec_foreach (block, &snap->blocks[class])
		if (block->stack < snap->stacks.len)
			block->stack = to[block->stack];
}

static bool add_frames(struct snapshot *snap, const struct snapshot *kernel)
{
	size_t count = kernel->frames.len;

	if (!vec_reserve(&snap->frames, snap->frames.len + count))
		return false;
	if (count)
		memcpy(snap->frames.data + snap->frames.len, kernel->frames.data,
		       count * sizeof(*kernel->frames.data));
	snap->frames.len += count;
	return true;
}

static bool add_allocators(struct snapshot *snap, struct snapshot *kernel)
{
	vec_foreach (allocator, &kernel->allocators) {
		if (!vec_push(&snap->allocators, *allocator))
			return false;
		*allocator = (struct snapshot_allocator){NULL, NULL};
	}
	return true;
}

/* Store the stacks of `kernel` in `snap`, whose vectors have room for them. */
static void add_stacks(struct snapshot *snap, const struct snapshot *kernel,
		       const uint32_t to[], size_t frames, size_t allocators)
{
	for (size_t i = 0; i < kernel->stacks.len; i++) {
		struct snapshot_stack *stack = &snap->stacks.data[to[i]];
		size_t allocator = kernel->stacks.data[i].allocator + allocators;

		*stack = kernel->stacks.data[i];
		stack->first_frame += (uint32_t)frames;
		/* UINT8_MAX means no allocator, also if there are too many. */
		stack->allocator = allocator < UINT8_MAX ? (uint8_t)allocator : UINT8_MAX;
	}
}

bool snapshot_join(struct snapshot_join *join, struct snapshot *snap,
		   struct snapshot *kernel)
{
	size_t frames = snap->frames.len, allocators = snap->allocators.len;
	const uint32_t *of_process, *of_kernel;

	if (!number_new(&join->of_process, snap->stacks.len, &join->count) ||
	    !number_new(&join->of_kernel, kernel->stacks.len, &join->count))
		return false;
	of_process = join->of_process.list.data;
	of_kernel = join->of_kernel.list.data;
	renumber(snap, BLOCK_HEAP, of_process);
	renumber(snap, BLOCK_MAPPING, of_process);
	renumber(kernel, BLOCK_KERNEL, of_kernel);
	/* The process may have no entry any more; then drop the kernel's blocks. */
	if (!snap->processes.len)
		kernel->blocks[BLOCK_KERNEL].len = kernel->stacks.len = 0;
	if ((snap->traffic.len && !REORDER(&snap->traffic, of_process, join->count)) ||
	    (snap->lifetimes.len &&
	     !REORDER(&snap->lifetimes, of_process, join->count)) ||
	    (snap->path_sizes.len &&
	     !REORDER(&snap->path_sizes, of_process, join->count)) ||
	    (snap->at_peak.len && !REORDER(&snap->at_peak, of_process, join->count)) ||
	    (snap->unreachable.len &&
	     !REORDER(&snap->unreachable, of_process, join->count)) ||
	    !REORDER(&snap->stacks, of_process, join->count) ||
	    !add_frames(snap, kernel) || !add_allocators(snap, kernel))
		return false;
	add_stacks(snap, kernel, of_kernel, frames, allocators);

	snap->kernel_traced = true;
	memcpy(&snap->blocks[BLOCK_KERNEL], &kernel->blocks[BLOCK_KERNEL],
	       sizeof(snap->blocks[BLOCK_KERNEL]));
	memset(&kernel->blocks[BLOCK_KERNEL], 0, sizeof(kernel->blocks[BLOCK_KERNEL]));
	snap->totals[BLOCK_KERNEL] = kernel->totals[BLOCK_KERNEL];
	memcpy(&snap->kernel_classes, &kernel->kernel_classes,
	       sizeof(snap->kernel_classes));
	memset(&kernel->kernel_classes, 0, sizeof(kernel->kernel_classes));
	for (size_t i = 0; i < LOSS_COUNT; i++)
		snap->losses[i] += kernel->losses[i];
	snap->inconsistent |= kernel->inconsistent;
	return true;
}

void snapshot_join_deinit(struct snapshot_join *join)
{
	vec_deinit(&join->of_process.list);
	vec_deinit(&join->of_kernel.list);
}
