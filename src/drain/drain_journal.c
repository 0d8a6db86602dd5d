// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "drain/drain_blocks.h"
#include "bpf/mapped.h"

/* While a table of so many slots is read, the probes may well write an entry. */
#define SLOTS_PER_ENTRY 48

static bool apply_journal(const void *elements, uint32_t first, uint32_t count, void *arg)
{
	const struct abi_journal *entries = elements;
	struct drain *d = arg;

	(void)first;
	for (uint32_t i = 0; i < count; i++) {
		const volatile uint32_t *kind = &entries[i].kind;

		for (int tries = 0; !*kind && tries < DRAIN_ENTRY_TRIES; tries++)
			drain_pause_ns(1000);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (!*kind) {
			d->settled = false;
			continue;
		}

		struct abi_journal entry = entries[i];

		if (!drain_apply(d, &entry))
			return false;
	}
	return true;
}

static bool clear_journal(const void *elements, uint32_t first, uint32_t count, void *arg)
{
	(void)first;
	(void)arg;
	memset((void *)(uintptr_t)elements, 0,
	       (size_t)count * sizeof(struct abi_journal));
	return true;
}

static bool is_ring(const struct drain *d)
{
	return !d->maps->live;
}

static uint64_t *used_of(const struct drain *d)
{
	return &d->control->journal_used[d->control->journal_half];
}

static uint64_t entries_used(const struct drain *d)
{
	return __atomic_load_n(used_of(d), __ATOMIC_SEQ_CST);
}

/* Apply `fn` to the first `count` entries of the current half. */
static struct error *walk_half(struct drain *d, uint64_t count, mapped_fn fn)
{
	return mapped_walk_part(d->maps->journal->half[d->control->journal_half], 0,
				(uint32_t)count, sizeof(struct abi_journal), fn, d);
}

/* How many entries the next reading may need: twice as many as the last two readings. */
static uint64_t entries_wanted(const struct drain *d)
{
	struct live_table *live = d->maps->live;
	uint64_t slots = (uint64_t)live_table_buckets(live, live_table_count(live)) *
			 ABI_LIVE_WAYS;
	uint64_t wanted = slots / SLOTS_PER_ENTRY;

	for (int i = 0; i < 2; i++) {
		uint64_t used =
			__atomic_load_n(&d->control->journal_used[i], __ATOMIC_SEQ_CST);

		if (wanted < 2 * used)
			wanted = 2 * used;
	}
	return wanted;
}

static uint32_t room_of(const struct drain *d)
{
	return d->maps->journal->room[d->control->journal_half];
}

/* Switch halves and clear the entries of the last reading but one. The programs that
 * wrote them have ended. */
static struct error *clear_half(struct drain *d)
{
	uint64_t used, wanted = entries_wanted(d);
	struct error *err;
	bool is_new;

	d->control->journal_half ^= 1;
	err = journal_table_grow(d->maps->journal, (uint32_t)d->control->journal_half,
				 wanted, &is_new);
	/* Without more memory, the half may still suffice. */
	error_destroy(err);
	if (is_new)
		return NULL;
	used = entries_used(d);
	return walk_half(d, used < room_of(d) ? used : room_of(d), clear_journal);
}

/* A ring has no halves: wait until programs that still write to it have ended. */
static struct error *clear_ring(struct drain *d)
{
	d->fenced &= fence_wait(d->maps->fence);
	return drain_ring_clear(d);
}

struct error *drain_journal_open(struct drain *d)
{
	struct error *err;

	/* Wait for all programs that wrote to the half that is used next. */
	d->fenced = fence_end(d->maps->fence) && !d->fence_failed;
	d->fence_failed = false;
	d->is_half_made = false;
	err = is_ring(d) ? clear_ring(d) : clear_half(d);
	if (err)
		return err;
	__atomic_store_n(used_of(d), 0, __ATOMIC_SEQ_CST);
	d->late_changes = __atomic_load_n(&d->control->late_changes, __ATOMIC_SEQ_CST);
	__atomic_store_n(&d->control->draining, 1 + d->control->journal_half,
			 __ATOMIC_SEQ_CST);
	fence_begin(d->maps->fence);
	/* Programs that write to a ring do not count late changes, so all programs that
	 * are running must end before the tables are read. */
	if (is_ring(d))
		d->fenced &= fence_end(d->maps->fence);
	return NULL;
}

bool drain_journal_is_good(struct drain *d)
{
	if (is_ring(d) ||
	    (!d->is_half_made && __atomic_load_n(&d->control->late_changes,
						 __ATOMIC_SEQ_CST) == d->late_changes))
		return true;
	d->fenced &= fence_end(d->maps->fence);
	return false;
}

struct error *drain_journal_close(struct drain *d, bool *settled)
{
	uint64_t used = entries_used(d);
	bool is_whole = is_ring(d) ? used < ABI_JOURNAL_LOST : used <= room_of(d);
	struct error *err;

	d->settled = d->fenced && is_whole;
	if (!is_whole)
		used = is_ring(d) ? 0 : room_of(d);
	err = is_ring(d) ? drain_ring_apply(d, used) : walk_half(d, used, apply_journal);
	__atomic_store_n(&d->control->draining, 0, __ATOMIC_SEQ_CST);
	*settled = d->settled;
	return err;
}
