// SPDX-License-Identifier: Apache-2.0
#include "drain/drain_blocks.h"

#include <time.h>

uint64_t drain_time_ns(const struct tick_clock *ticks, uint64_t attached_ns,
		       const struct abi_block *block)
{
	uint64_t time_ns =
		tick_clock_time_ns(ticks, ABI_TICKS(block->thread, block->tick));

	return time_ns < attached_ns ? attached_ns : time_ns;
}

/* Convert a block of the probes to a block of the snapshot. */
static struct snapshot_block block_from(const struct drain *d, uint64_t key,
					const struct abi_block *b)
{
	uint32_t slot = ABI_KEY_SLOT(key);

	return (struct snapshot_block){
		.address = ABI_KEY_ADDRESS(key),
		.process = slot < d->sizes->process_slots ? d->slots->process[slot]
							  : SNAPSHOT_NO_PROCESS,
		.size_bytes = b->size_bytes,
		.time_ns = drain_time_ns(d->ticks, d->snap->attached_ns, b),
		.stack = b->stack, /* resolved later: it may not be stored yet */
		.tid = ABI_TID(b->thread),
	};
}

size_t drain_find_in_bucket(const struct drain *d, uint32_t at, uint64_t key)
{
	for (uint32_t i = d->first_of_bucket[at]; i < d->first_of_bucket[at + 1]; i++) {
		if ((d->keys.data[i] & ~DRAIN_HELD) == key)
			return i;
	}
	return DRAIN_NOWHERE;
}

size_t drain_find(const struct drain *d, uint64_t key)
{
	uint32_t homes = key & 7 ? 0 : 2 * d->generations;
	uint64_t index;

	for (uint32_t i = 0; i < homes; i++) {
		size_t at = drain_find_in_bucket(
			d, live_table_at(d->maps->live, i / 2, key >> 3, i % 2), key);

		if (at != DRAIN_NOWHERE)
			return at;
	}
	return hashmap_get(&d->others, key, &index) ? index : DRAIN_NOWHERE;
}

void drain_remove_copies(struct drain *d, uint64_t key)
{
	uint32_t homes = key & 7 ? 0 : 2 * d->generations;
	size_t kept = drain_find(d, key);

	for (uint32_t i = 0; kept != DRAIN_NOWHERE && i < homes; i++) {
		uint32_t at = live_table_at(d->maps->live, i / 2, key >> 3, i % 2);

		for (uint32_t j = d->first_of_bucket[at]; j < d->first_of_bucket[at + 1];
		     j++)
			if (j != kept && (d->keys.data[j] & ~DRAIN_HELD) == key)
				d->keys.data[j] = 0;
	}
}

bool drain_append(struct drain *d, uint64_t key, const struct abi_block *block)
{
	return vec_push(&d->keys, key) &&
	       vec_push(&d->snap->blocks[d->maps->class], block_from(d, key, block));
}

void drain_replace(struct drain *d, size_t index, uint64_t key,
		   const struct abi_block *block)
{
	d->keys.data[index] = key;
	d->snap->blocks[d->maps->class].data[index] = block_from(d, key, block);
}

bool drain_add(struct drain *d, uint64_t key, const struct abi_block *block)
{
	size_t index = drain_find(d, key);

	if (index != DRAIN_NOWHERE) {
		drain_replace(d, index, key, block);
		return true;
	}
	return hashmap_put(&d->others, key, d->keys.len) && drain_append(d, key, block);
}

bool drain_hold(struct drain *d, uint64_t key, const struct abi_block *block)
{
	if (!drain_add(d, key, block))
		return false;
	d->keys.data[drain_find(d, key)] = key | DRAIN_HELD;
	d->has_moving = true;
	return true;
}

/* `stored`: the key as in d->keys. */
static void remove_stored(struct drain *d, uint64_t key, uint64_t stored)
{
	size_t index = drain_find(d, key);

	if (index != DRAIN_NOWHERE && d->keys.data[index] == stored)
		d->keys.data[index] = 0;
}

void drain_remove(struct drain *d, uint64_t key)
{
	remove_stored(d, key, key);
}

void drain_release(struct drain *d, uint64_t key)
{
	remove_stored(d, key, key | DRAIN_HELD);
}

void drain_pause_ns(long ns)
{
	nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

bool drain_apply(struct drain *d, const struct abi_journal *e)
{
	const struct abi_block block = {e->size_bytes, e->stack, e->thread, e->tick, 0};

	/* Whatever moved during the reading is in the journal. */
	drain_remove_copies(d, e->key);
	if (e->old_key == ABI_JOURNAL_HELD)
		return drain_hold(d, e->key, &block);
	if (e->old_key)
		drain_release(d, e->old_key);
	if (e->kind == ABI_JOURNAL_PUT)
		return drain_add(d, e->key, &block);
	if (e->key)
		drain_remove(d, e->key);
	return true;
}
