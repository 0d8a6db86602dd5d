// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "drain/drain_blocks.h"
#include "bpf/mapped.h"

/* --- the table -------------------------------------------------------------------- */

/* Read one slot, repeatedly until two readings agree. Returns false if it is empty or
 * being changed. */
static bool read_slot(struct drain *d, const struct abi_live_bucket *bucket, int way,
		      uint64_t *key, struct abi_block *block)
{
	const volatile uint64_t *at = &bucket->key[way];
	const volatile struct abi_live_entry *entry = &bucket->entry[way];

	for (;;) {
		uint64_t k = *at;

		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		d->is_half_made |= k == ABI_LIVE_CLAIMED;
		if (k == 0 || k == ABI_LIVE_CLAIMED)
			return false;

		struct abi_live_entry a = {entry->size_bytes, entry->stack, entry->thread,
					   entry->tick};
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		struct abi_live_entry b = {entry->size_bytes, entry->stack, entry->thread,
					   entry->tick};
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (*at == k && !memcmp(&a, &b, sizeof(a))) {
			*key = k;
			*block = (struct abi_block){a.size_bytes, a.stack, a.thread,
						    a.tick, 0};
			return true;
		}
	}
}

/* How many buckets ahead to fetch: each lies in other cache lines, and the processor does
 * not foresee them. */
#define FETCH_AHEAD 16

/* Most buckets are empty, and every report reads all of them. */
static bool is_empty(const struct abi_live_bucket *bucket)
{
	const volatile uint64_t *key = bucket->key;
	uint64_t any = 0;

	for (int way = 0; way < ABI_LIVE_WAYS; way++)
		any |= key[way];
	return !any;
}

static bool read_buckets(const void *elements, uint32_t first, uint32_t count, void *arg)
{
	const struct abi_live_bucket *buckets = elements;
	struct drain *d = arg;

	if (!vec_reserve(&d->snap->blocks[d->maps->class],
			 d->snap->blocks[d->maps->class].len + count) ||
	    !vec_reserve(&d->keys, d->keys.len + count))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t here = first + i;

		d->first_of_bucket[here] = (uint32_t)d->keys.len;
		if (i + FETCH_AHEAD < count)
			__builtin_prefetch(buckets[i + FETCH_AHEAD].key);
		if (is_empty(&buckets[i]))
			continue;
		for (int way = 0; way < ABI_LIVE_WAYS; way++) {
			struct abi_block block;
			uint64_t word;

			if (!read_slot(d, &buckets[i], way, &word, &block))
				continue;

			if (!drain_append(d, word << 3, &block))
				return false;
		}
	}
	d->first_of_bucket[first + count] = (uint32_t)d->keys.len;
	return true;
}

/* --- spill maps and pending calls ------------------------------------------------ */

static bool add_spilled(uint64_t key, const void *value, void *arg)
{
	struct drain *d = arg;

	return drain_find(d, key) != DRAIN_NOWHERE || drain_add(d, key, value);
}

/* The old block of a pending realloc() is live: the call may still fail. */
static bool add_pending_old(struct drain *d, const struct abi_pending *p)
{
	d->has_calls = true;
	d->is_half_made |= !!(p->flags & ABI_PENDING_CHANGES);
	d->has_moving |= !!(p->flags & ABI_PENDING_HAS_OLD);
	return !(p->flags & ABI_PENDING_HAS_OLD) ||
	       drain_find(d, p->address) != DRAIN_NOWHERE ||
	       drain_hold(d, p->address, &p->old);
}

static bool read_pending(const void *elements, uint32_t first, uint32_t count, void *arg)
{
	const struct abi_pending *slots = elements;
	struct drain *d = arg;

	(void)first;
	for (uint32_t i = 0; i < count; i++) {
		const volatile uint64_t *owner = &slots[i].owner;
		uint64_t before = *owner;

		if (!before)
			continue;
		d->has_calls = true;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);

		struct abi_pending p = slots[i];

		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (*owner != before || memcmp(&p, &slots[i], sizeof(p)))
			d->is_half_made = true;
		else if (!add_pending_old(d, &p))
			return false;
	}
	return true;
}

static bool add_spilled_pending(uint64_t tid, const void *value, void *arg)
{
	(void)tid;
	return add_pending_old(arg, value);
}

static struct error *read_spills(struct drain *d)
{
	struct error *err = drain_walk_hash(d->maps->live_spill, sizeof(struct abi_block),
					    add_spilled, d);

	if (!err && d->maps->pending_spill >= 0)
		err = drain_walk_hash(d->maps->pending_spill, sizeof(struct abi_pending),
				      add_spilled_pending, d);
	return err;
}

static bool note_moving(const void *elements, uint32_t first, uint32_t count, void *arg)
{
	const struct abi_pending *slots = elements;
	struct drain *d = arg;

	(void)first;
	for (uint32_t i = 0; i < count; i++)
		d->has_moving |= *(const volatile uint64_t *)&slots[i].owner &&
				 slots[i].flags & ABI_PENDING_HAS_OLD;
	return true;
}

static bool note_spilled(uint64_t tid, const void *value, void *arg)
{
	(void)tid;
	return note_moving(value, 0, 1, arg);
}

struct error *drain_read_moving(struct drain *d)
{
	struct error *err = NULL;

	if (d->maps->pending >= 0)
		err = mapped_walk(d->maps->pending, ABI_PENDING_SLOTS,
				  sizeof(struct abi_pending), note_moving, d);
	if (!err && d->maps->pending_spill >= 0)
		err = drain_walk_hash(d->maps->pending_spill, sizeof(struct abi_pending),
				      note_spilled, d);
	return err;
}

struct error *drain_read_tables(struct drain *d)
{
	struct error *err = NULL;

	if (d->maps->live)
		err = live_table_walk(d->maps->live, d->generations, read_buckets, d);
	if (!err)
		err = read_spills(d);
	if (!err && d->maps->pending >= 0)
		err = mapped_walk(d->maps->pending, ABI_PENDING_SLOTS,
				  sizeof(struct abi_pending), read_pending, d);
	return err;
}

struct abi_counters drain_sum_counters(const struct drain_maps *maps, uint32_t cpu_slots)
{
	const struct abi_counters *records = maps->counters;
	struct abi_counters sum = {{0}};

	for (uint32_t i = 0; i < cpu_slots; i++) {
		for (int j = 0; j < ABI_COUNTER_COUNT; j++)
			sum.value[j] += *(const volatile uint64_t *)&records[i].value[j];
	}
	return sum;
}
