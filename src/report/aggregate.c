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

struct report_sum report_sum_from(const struct stack_sum *sum, bool is_estimate)
{
	struct report_sum ret = {
		.size_bytes = sum->size_bytes,
		.count = sum->count,
		.estimated_bytes = sum->size_bytes,
		.estimated_count = sum->count,
	};

	if (is_estimate) {
		ret.estimated_bytes = report_round(sum->estimated_bytes);
		ret.estimated_count = report_round(sum->estimated_count);
	}
	return ret;
}

void stack_sum_add(struct stack_sum *sum, const struct snapshot_block *block,
		   double weight)
{
	if (!sum->count || block->time_ns < sum->oldest_ns)
		sum->oldest_ns = block->time_ns;
	if (block->time_ns > sum->newest_ns)
		sum->newest_ns = block->time_ns;
	sum->size_bytes = report_add(sum->size_bytes, block->size_bytes);
	sum->count++;
	sum->estimated_bytes += weight * (double)block->size_bytes;
	sum->estimated_count += weight;
}

void stack_sum_add_event(struct stack_sum *sum, const struct snapshot *snap,
			 const struct snapshot_event *event)
{
	/* Since when they come is not kept. */
	sum->oldest_ns = sum->newest_ns = snap->time_ns;
	sum->count = report_add(sum->count, event->count);
	if (!snap->event_bytes)
		sum->size_bytes = sum->count;
	else if (__builtin_mul_overflow(sum->count, snap->event_bytes, &sum->size_bytes))
		sum->size_bytes = UINT64_MAX;
	sum->estimated_count = (double)sum->count;
	sum->estimated_bytes = (double)sum->size_bytes;
}

/* Events have no age: all are listed. */
static void aggregate_events(const struct snapshot *snap, struct stack_sums *ret,
			     struct stack_sum *live)
{
	vec_foreach (event, &snap->events) {
		stack_sum_add_event(live, snap, event);
		stack_sum_add_event(event->stack < ret->stacks.len
					    ? &ret->stacks.data[event->stack]
					    : &ret->none,
				    snap, event);
	}
}

struct error *aggregate_blocks(const struct report *report,
			       struct report_section *section, struct stack_sums *ret)
{
	const struct snapshot *snap = report->snapshot;
	const struct report_options *options = &report->options;
	const struct snapshot_block *blocks = snap->blocks[section->class].data;
	size_t count = snap->blocks[section->class].len;
	size_t stacks = snap->stacks.len;
	struct stack_sum live = {0}, listed = {0};

	if (!vec_reserve(&ret->stacks, stacks))
		return error_no_memory();
	if (stacks)
		memset(ret->stacks.data, 0, stacks * sizeof(*ret->stacks.data));
	ret->stacks.len = stacks;

	for (size_t i = 0; i < count; i++) {
		const struct snapshot_block *block = &blocks[i];
		double weight = report_weight(report, section, block->size_bytes);

		stack_sum_add(&live, block, weight);
		if (!block_is_listed(snap, options, block))
			continue;
		stack_sum_add(&listed, block, weight);

		uint32_t stack = block_stack(snap, block);

		stack_sum_add(stack == SNAPSHOT_NO_STACK ? &ret->none
							 : &ret->stacks.data[stack],
			      block, weight);
	}
	if (section->class == BLOCK_EVENT) {
		aggregate_events(snap, ret, &live);
		listed = live;
	}
	section->live = report_sum_from(&live, section->is_estimate);
	section->listed = report_sum_from(&listed, section->is_estimate);
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
		      enum report_sort sort, bool is_estimate, uint32_t stack)
{
	bool by_count = sort == REPORT_SORT_COUNT;
	struct report_sum whole = report_sum_from(sum, is_estimate);

	if (!sum->count)
		return true;
	return vec_push(&ranks->ranks, (struct stack_rank){
					       .first = by_count ? whole.estimated_count
								 : whole.estimated_bytes,
					       .second = by_count ? whole.estimated_bytes
								  : whole.estimated_count,
					       .stack = stack,
				       });
}

struct error *rank_stacks(const struct stack_sums *sums, enum report_sort sort,
			  bool is_estimate, struct stack_ranks *ret)
{
	bool pushed = push_rank(ret, &sums->none, sort, is_estimate, SNAPSHOT_NO_STACK);

	for (size_t i = 0; pushed && i < sums->stacks.len; i++)
		pushed = push_rank(ret, &sums->stacks.data[i], sort, is_estimate,
				   (uint32_t)i);
	if (!pushed)
		return error_no_memory();
	if (ret->ranks.len)
		qsort(ret->ranks.data, ret->ranks.len, sizeof(*ret->ranks.data),
		      compare_ranks);
	return NULL;
}
