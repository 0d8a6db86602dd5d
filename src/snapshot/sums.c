// SPDX-License-Identifier: Apache-2.0
#include "snapshot/sums.h"

#include <stdlib.h>

#include "snapshot/sampling.h"
#include "util/saturate.h"

void snapshot_held_add_block(struct snapshot_held *held,
			     const struct snapshot_block *block, double weight)
{
	if (!held->count || block->time_ns < held->oldest_ns)
		held->oldest_ns = block->time_ns;
	if (block->time_ns > held->newest_ns)
		held->newest_ns = block->time_ns;
	held->size_bytes = saturate_add(held->size_bytes, block->size_bytes);
	held->count++;
	held->estimated_bytes += weight * (double)block->size_bytes;
	held->estimated_count += weight;
}

void snapshot_held_add(struct snapshot_held *held, const struct snapshot_held *more)
{
	if (!more->count)
		return;
	if (!held->count || more->oldest_ns < held->oldest_ns)
		held->oldest_ns = more->oldest_ns;
	if (more->newest_ns > held->newest_ns)
		held->newest_ns = more->newest_ns;
	held->size_bytes = saturate_add(held->size_bytes, more->size_bytes);
	held->count = saturate_add(held->count, more->count);
	held->estimated_bytes += more->estimated_bytes;
	held->estimated_count += more->estimated_count;
}

/* Sum the blocks of a class. False: memory is out. *fits is false if a block belongs to
 * another process than the first, or than its stack. */
static bool sum_class(const struct snapshot *snap, enum block_class class,
		      const struct sampling_weights *weights, struct snapshot *ret,
		      bool *fits)
{
	size_t stacks = snap->stacks.len;
	struct snapshot_held *held;

	if (!snap->blocks[class].len)
		return true;
	held = calloc(stacks + 1, sizeof(*held));
	if (!held)
		return false;
	ret->held[class].data = held;
	ret->held[class].len = ret->held[class].cap = stacks + 1;
	vec_foreach (block, &snap->blocks[class]) {
		bool has_stack = block->stack < stacks;

		if (block->process ||
		    (has_stack && snap->stacks.data[block->stack].process)) {
			*fits = false;
			return true;
		}
		snapshot_held_add_block(
			&held[has_stack ? block->stack : stacks], block,
			block_class_is_sampled(class)
				? sampling_weight(weights, block->size_bytes)
				: 1);
	}
	return true;
}

bool snapshot_sums(const struct snapshot *snap, struct snapshot *ret)
{
	bool fits = snap->processes.len == 1 && !snap->library && !snap->stack_numbers;
	struct sampling_weights weights;

	*ret = *snap;
	memset(ret->held, 0, sizeof(ret->held));
	memset(&ret->lifetimes, 0, sizeof(ret->lifetimes));
	memset(&ret->path_sizes, 0, sizeof(ret->path_sizes));
	ret->has_lifetimes = false;
	sampling_weights_init(&snap->sampling, &weights);
	for (size_t i = 0; fits && i < BLOCK_EVENT; i++)
		if (!sum_class(snap, (enum block_class)i, &weights, ret, &fits))
			return false;
	if (!fits)
		snapshot_sums_deinit(ret);
	for (size_t i = 0; fits && i < BLOCK_EVENT; i++)
		memset(&ret->blocks[i], 0, sizeof(ret->blocks[i]));
	return true;
}

void snapshot_sums_deinit(struct snapshot *sums)
{
	for (size_t i = 0; i < BLOCK_EVENT; i++)
		vec_deinit(&sums->held[i]);
}
