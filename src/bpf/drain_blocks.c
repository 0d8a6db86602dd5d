// SPDX-License-Identifier: Apache-2.0
#include "bpf/drain_blocks.h"

uint64_t drain_tick_ns(uint64_t attach_ns, uint64_t now_ns, uint32_t tick)
{
	uint64_t now = (now_ns - attach_ns) >> ABI_TICK_SHIFT;
	uint64_t then = (now & ~(uint64_t)UINT32_MAX) | tick;

	if (then > now && then > UINT32_MAX)
		then -= (uint64_t)UINT32_MAX + 1;
	return attach_ns + (then << ABI_TICK_SHIFT);
}

/* Ticks are rounded down, to before the first block could be made. */
static uint64_t block_time_ns(const struct drain *d, uint32_t tick)
{
	uint64_t time_ns = drain_tick_ns(d->attach_ns, d->snap->time_ns, tick);

	return time_ns < d->snap->attached_ns ? d->snap->attached_ns : time_ns;
}

struct snapshot_block drain_block_from(const struct drain *d, uint64_t address,
				       const struct abi_block *b)
{
	return (struct snapshot_block){
		.address = address,
		.size_bytes = b->size_bytes,
		.time_ns = block_time_ns(d, b->tick),
		.stack = b->stack < d->sizes->max_stacks ? b->stack : SNAPSHOT_NO_STACK,
		.tid = b->tid,
	};
}

struct snapshot_block *drain_find_in_bucket(const struct drain *d, uint32_t at,
					    uint64_t address)
{
	struct snapshot_block *blocks = d->snap->blocks[BLOCK_HEAP].data;

	for (uint32_t i = d->first_of_bucket[at]; i < d->first_of_bucket[at + 1]; i++) {
		if (blocks[i].address == address)
			return &blocks[i];
	}
	return NULL;
}

struct snapshot_block *drain_find(const struct drain *d, uint64_t address)
{
	uint64_t key = address >> 3, index;
	uint32_t total = d->sizes->live_buckets;
	struct snapshot_block *block = NULL;

	if (!(address & 7))
		block = drain_find_in_bucket(d, abi_live_hash(key, total, 0), address);
	if (!(address & 7) && !block)
		block = drain_find_in_bucket(d, abi_live_hash(key, total, 1), address);
	if (!block && hashmap_get(&d->others, address, &index))
		block = &d->snap->blocks[BLOCK_HEAP].data[index];
	return block;
}

bool drain_add(struct drain *d, struct snapshot_block block)
{
	struct snapshot_block *seen = drain_find(d, block.address);

	if (seen) {
		*seen = block;
		return true;
	}
	return hashmap_put(&d->others, block.address, d->snap->blocks[BLOCK_HEAP].len) &&
	       vec_push(&d->snap->blocks[BLOCK_HEAP], block);
}

void drain_remove(struct drain *d, uint64_t address)
{
	struct snapshot_block *block = drain_find(d, address);

	if (block)
		block->address = 0;
}
