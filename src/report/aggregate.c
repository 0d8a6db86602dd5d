// SPDX-License-Identifier: Apache-2.0
#include "report/aggregate.h"

#include <string.h>

#include "report/histogram.h"
#include "util/saturate.h"

uint64_t block_age_ns(const struct snapshot *snap, const struct snapshot_block *block)
{
	return saturate_subtract(snap->time_ns, block->time_ns);
}

int block_compare(const struct snapshot_block *a, const struct snapshot_block *b)
{
	if (a->size_bytes != b->size_bytes)
		return a->size_bytes > b->size_bytes ? -1 : 1;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

bool block_is_listed(const struct snapshot *snap, const struct report_options *options,
		     const struct snapshot_block *block)
{
	return options->combined_only || block_age_ns(snap, block) >= options->older_ns;
}

uint32_t block_stack(const struct snapshot *snap, const struct snapshot_block *block)
{
	return snapshot_stack_index(snap, block->stack);
}

struct report_sum report_sum_from(const struct snapshot_held *sum, bool is_estimate)
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

void stack_sum_add_event(struct snapshot_held *sum, const struct snapshot *snap,
			 const struct snapshot_event *event)
{
	/* The time of the hits is not recorded. */
	sum->oldest_ns = sum->newest_ns = snap->time_ns;
	sum->count = saturate_add(sum->count, event->count);
	if (!snap->event_bytes)
		sum->size_bytes = sum->count;
	else if (__builtin_mul_overflow(sum->count, snap->event_bytes, &sum->size_bytes))
		sum->size_bytes = UINT64_MAX;
	sum->estimated_count = (double)sum->count;
	sum->estimated_bytes = (double)sum->size_bytes;
}

/* Events have no age, so all are listed. */
static void aggregate_events(const struct snapshot *snap, struct stack_sums *ret,
			     struct snapshot_held *live)
{
	vec_foreach (event, &snap->events) {
		uint32_t stack = snapshot_stack_index(snap, event->stack);

		stack_sum_add_event(live, snap, event);
		stack_sum_add_event(stack < ret->stacks.len ? &ret->stacks.data[stack]
							    : &ret->none,
				    snap, event);
	}
}

/* The sums of a snapshot without blocks (snapshot/sums.h); their ages are not asked for.
 */
static void aggregate_held(const struct snapshot *snap, enum block_class class,
			   struct stack_sums *ret, struct snapshot_held *live)
{
	for (uint32_t i = 0; i < snap->held[class].len; i++) {
		const struct snapshot_held *held = &snap->held[class].data[i];
		uint32_t stack = i + 1 < snap->held[class].len
					 ? snapshot_stack_index(snap, i)
					 : SNAPSHOT_NO_STACK;

		snapshot_held_add(live, held);
		snapshot_held_add(stack == SNAPSHOT_NO_STACK ? &ret->none
							     : &ret->stacks.data[stack],
				  held);
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
	struct snapshot_held live = {0}, listed = {0};
	double of_size[SNAPSHOT_BUCKETS] = {0};

	if (!vec_reserve(&ret->stacks, stacks))
		return error_no_memory();
	if (stacks)
		memset(ret->stacks.data, 0, stacks * sizeof(*ret->stacks.data));
	ret->stacks.len = stacks;

	for (size_t i = 0; i < count; i++) {
		const struct snapshot_block *block = &blocks[i];
		double weight = report_weight(report, section, block->size_bytes);

		snapshot_held_add_block(&live, block, weight);
		of_size[histogram_class(block->size_bytes)] += weight;
		if (!block_is_listed(snap, options, block))
			continue;
		snapshot_held_add_block(&listed, block, weight);

		uint32_t stack = block_stack(snap, block);

		snapshot_held_add_block(stack == SNAPSHOT_NO_STACK
						? &ret->none
						: &ret->stacks.data[stack],
					block, weight);
	}
	if (section->class < BLOCK_EVENT && snap->held[section->class].len) {
		aggregate_held(snap, section->class, ret, &live);
		listed = live;
	}
	if (section->class == BLOCK_EVENT) {
		aggregate_events(snap, ret, &live);
		listed = live;
	}
	for (size_t i = 0; i < SNAPSHOT_BUCKETS; i++)
		section->live_sizes[i] = report_round(of_size[i]);
	section->live = report_sum_from(&live, section->is_estimate);
	section->listed = report_sum_from(&listed, section->is_estimate);
	return NULL;
}
