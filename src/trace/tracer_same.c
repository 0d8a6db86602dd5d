// SPDX-License-Identifier: Apache-2.0
#include "trace/tracer_state.h"

struct search {
	const struct snapshot *snap;
	const uint32_t *slots, *numbers;
};

static struct drain_known get(const void *arg, size_t i)
{
	const struct search *s = arg;
	const struct snapshot_block *block =
		&s->snap->blocks[BLOCK_HEAP].data[s->numbers[i]];

	return (struct drain_known){
		.key = ABI_KEY(s->slots[block->process], block->address),
		.size_bytes = block->size_bytes,
		.time_ns = block->time_ns,
		.tid = block->tid,
		.stack = block->stack,
	};
}

struct error *tracer_find_same(struct tracer *t, const uint32_t slots[],
			       const struct snapshot *snap, const uint32_t numbers[],
			       size_t count, bool is_there[])
{
	const struct search search = {snap, slots, numbers};
	const struct drain_resolver resolver = {tracer_catch_up, tracer_stack, t};
	const struct drain_wanted wanted = {get, &search, count};

	return drain_find_same(&t->maps, t->control, &t->ticks, snap->attached_ns,
			       &resolver, &wanted, is_there);
}
