// SPDX-License-Identifier: Apache-2.0
#include "report/aggregate.h"

#include <stdlib.h>
#include <string.h>

uint64_t block_age_ns(const struct snapshot *snap, const struct snapshot_block *block)
{
	return snap->time_ns > block->time_ns ? snap->time_ns - block->time_ns : 0;
}

bool block_is_listed(const struct snapshot *snap, const struct report_options *options,
		     const struct snapshot_block *block)
{
	return options->combined_only || block_age_ns(snap, block) >= options->older_ns;
}

uint32_t block_stack(const struct snapshot *snap, const struct snapshot_block *block)
{
	return block->stack < snap->stacks.len ? block->stack : SNAPSHOT_NO_STACK;
}

/* Sums of a damaged snapshot stop at the top; they never start anew. */
static uint64_t add(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static void add_block(struct stack_sum *sum, const struct snapshot_block *block)
{
	if (!sum->count || block->time_ns < sum->oldest_ns)
		sum->oldest_ns = block->time_ns;
	if (block->time_ns > sum->newest_ns)
		sum->newest_ns = block->time_ns;
	sum->size_bytes = add(sum->size_bytes, block->size_bytes);
	sum->count++;
}

struct error *aggregate_blocks(const struct snapshot *snap,
			       const struct report_options *options,
			       struct report_section *section, struct stack_sums *ret)
{
	const struct snapshot_block *blocks = snap->blocks[section->class].data;
	size_t count = snap->blocks[section->class].len;
	size_t stacks = snap->stacks.len;

	if (!vec_reserve(&ret->stacks, stacks))
		return error_no_memory();
	if (stacks)
		memset(ret->stacks.data, 0, stacks * sizeof(*ret->stacks.data));
	ret->stacks.len = stacks;

	section->live_count = count;
	for (size_t i = 0; i < count; i++) {
		const struct snapshot_block *block = &blocks[i];

		section->live_bytes = add(section->live_bytes, block->size_bytes);
		if (!block_is_listed(snap, options, block))
			continue;
		section->listed_bytes = add(section->listed_bytes, block->size_bytes);
		section->listed_count++;

		uint32_t stack = block_stack(snap, block);

		add_block(stack == SNAPSHOT_NO_STACK ? &ret->none
						     : &ret->stacks.data[stack],
			  block);
	}
	return NULL;
}

static int compare_ranks(const void *pa, const void *pb)
{
	const struct stack_rank *a = pa, *b = pb;

	if (a->first != b->first)
		return a->first > b->first ? -1 : 1;
	if (a->second != b->second)
		return a->second > b->second ? -1 : 1;
	return a->stack < b->stack ? -1 : a->stack > b->stack;
}

static bool push_rank(struct stack_ranks *ranks, const struct stack_sum *sum,
		      enum report_sort sort, uint32_t stack)
{
	bool by_count = sort == REPORT_SORT_COUNT;

	if (!sum->count)
		return true;
	return vec_push(&ranks->ranks,
			(struct stack_rank){
				.first = by_count ? sum->count : sum->size_bytes,
				.second = by_count ? sum->size_bytes : sum->count,
				.stack = stack,
			});
}

struct error *rank_stacks(const struct stack_sums *sums, enum report_sort sort,
			  struct stack_ranks *ret)
{
	bool pushed = push_rank(ret, &sums->none, sort, SNAPSHOT_NO_STACK);

	for (size_t i = 0; pushed && i < sums->stacks.len; i++)
		pushed = push_rank(ret, &sums->stacks.data[i], sort, (uint32_t)i);
	if (!pushed)
		return error_no_memory();
	if (ret->ranks.len)
		qsort(ret->ranks.data, ret->ranks.len, sizeof(*ret->ranks.data),
		      compare_ranks);
	return NULL;
}
