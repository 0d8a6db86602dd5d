/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The table of live blocks (abi.h). Any number of processors insert and remove at the
 * same time. A program takes a slot only by compare-and-exchange.
 */

BPF_F_TABLE("array", u32, struct abi_live_bucket, live, ENTRIES(LIVE_BUCKETS),
	    BPF_F_MMAPABLE);
BPF_F_TABLE("hash", u64, struct abi_block, live_spill, ENTRIES(LIVE_SPILL), AS_NEEDED);
BPF_F_TABLE("array", u32, struct abi_journal, journal, 2 * ABI_JOURNAL_ENTRIES,
	    BPF_F_MMAPABLE);

/* Log a change before it is made, for a reader of the tables. `block` is NULL for TAKEN.
 * Returns the value of `draining` that was read, for journal_changed(). */
ALWAYS_INLINE u64 journal_add(struct abi_control *ctl, u64 key, u64 old_key,
			       const struct abi_block *block)
{
	/* Read once: another reading may begin at any time. */
	u64 draining = READ_ONCE(ctl->draining);

	if (!draining)
		return 0;

	u64 half = ABI_JOURNAL_HALF(draining);
	u64 n = __sync_fetch_and_add(&ctl->journal_used[half], 1);
	u32 at = half * ABI_JOURNAL_ENTRIES + n;
	struct abi_journal *entry = n < ABI_JOURNAL_ENTRIES ? journal.lookup(&at) : NULL;

	if (!entry)
		return draining;
	entry->key = key;
	entry->old_key = old_key;
	if (block) {
		entry->size_bytes = block->size_bytes;
		entry->stack = block->stack;
		entry->thread = block->thread;
		entry->tick = block->tick;
	}
	compiler_barrier();
	*(volatile u32 *)&entry->kind = block ? ABI_JOURNAL_PUT : ABI_JOURNAL_TAKEN;
	return draining;
}

/*
 * Call this after the change; `draining` is what journal_add() returned. A reading that
 * has begun since then has no entry of the change, and may already have read its place in
 * the table. It reads again if it sees the count. The change contains an atomic
 * operation, so `draining` is read after the change.
 */
ALWAYS_INLINE void journal_changed(struct abi_control *ctl, u64 draining)
{
	u64 now = READ_ONCE(ctl->draining);

	if (now && now != draining)
		__sync_fetch_and_add(&ctl->late_changes, 1);
}

/* True if the slots of the table can hold the block. */
ALWAYS_INLINE int live_fits(u64 key, u64 size_bytes)
{
	return !(key & 7) && key >> 3 > ABI_LIVE_CLAIMED && size_bytes >> 32 == 0;
}

/* Remove a block from one bucket. `word` is its key / 8. */
ALWAYS_INLINE int live_take_from(struct abi_live_bucket *b, u64 word,
				 struct abi_block *ret)
{
#pragma clang loop unroll(disable)
	for (int i = 0; i < ABI_LIVE_WAYS; i++) {
		if (READ_ONCE(b->key[i]) == word &&
		    __sync_val_compare_and_swap(&b->key[i], word, ABI_LIVE_CLAIMED) ==
			    word) {
			ret->size_bytes = b->entry[i].size_bytes;
			ret->stack = b->entry[i].stack;
			ret->thread = b->entry[i].thread;
			ret->tick = b->entry[i].tick;
			store_release(&b->key[i], 0);
			return 1;
		}
	}
	return 0;
}

/* Remove the block `key` from the table. Returns 0 if it is not there. */
ALWAYS_INLINE int live_take(struct abi_control *ctl, u64 key, struct abi_block *ret)
{
	u64 word = key >> 3;
	u32 at = abi_live_hash(word, LIVE_BUCKETS, 0);
	struct abi_live_bucket *b = live.lookup(&at);

	if (b && live_take_from(b, word, ret))
		return 1;
	at = abi_live_hash(word, LIVE_BUCKETS, 1);
	b = live.lookup(&at);
	if (b && live_take_from(b, word, ret))
		return 1;

	if (READ_ONCE(ctl->spilled_blocks)) {
		struct abi_block *spilled = live_spill.lookup(&key);

		if (spilled) {
			*ret = *spilled;
			/* If two frees of a block race, only one may count it. */
			if (live_spill.delete(&key) == 0) {
				__sync_fetch_and_add(&ctl->spilled_blocks, -1);
				return 1;
			}
		}
	}
	return 0;
}

/* Put a block into one bucket. Returns 0 if the bucket is full. */
ALWAYS_INLINE int live_put_into(struct abi_live_bucket *b, u64 word,
				const struct abi_block *block)
{
#pragma clang loop unroll(disable)
	for (int i = 0; i < ABI_LIVE_WAYS; i++) {
		if (READ_ONCE(b->key[i]) == 0 &&
		    __sync_val_compare_and_swap(&b->key[i], 0, ABI_LIVE_CLAIMED) == 0) {
			b->entry[i].size_bytes = block->size_bytes;
			b->entry[i].stack = block->stack;
			b->entry[i].thread = block->thread;
			b->entry[i].tick = block->tick;
			store_release(&b->key[i], word);
			return 1;
		}
	}
	return 0;
}

/*
 * The number of used slots of the bucket. Clears bit 63 of *differs if one of them has
 * `word`. Without branches, because the verifier would follow both sides of each of many
 * comparisons. Words are below 2^61, so bit 63 of a negated difference is set unless the
 * difference is 0.
 */
ALWAYS_INLINE u64 live_load(const struct abi_live_bucket *b, u64 word, u64 *differs)
{
	u64 load = 0;

#pragma unroll
	for (int i = 0; i < ABI_LIVE_WAYS; i++) {
		u64 key = READ_ONCE(b->key[i]);
		u64 taken = -key, difference = -(key ^ word);

		/* Hidden from the compiler, which would compare and branch. */
		barrier_var(taken);
		barrier_var(difference);
		load += taken >> 63;
		*differs &= difference;
	}
	return load;
}

ALWAYS_INLINE int live_put_anywhere(struct abi_control *ctl, u64 key,
				    const struct abi_block *block)
{
	u64 word = key >> 3;
	u32 at1 = abi_live_hash(word, LIVE_BUCKETS, 0);
	u32 at2 = abi_live_hash(word, LIVE_BUCKETS, 1);
	struct abi_live_bucket *b1 = live.lookup(&at1), *b2 = live.lookup(&at2);

	if (!b1 || !b2)
		return 0;

	u64 differs = READ_ONCE(ctl->spilled_blocks) ? 0 : 1ull << 63;
	u64 load1 = live_load(b1, word, &differs);
	u64 load2 = live_load(b2, word, &differs);

	/* The allocator has reused the address: the probes missed the free. */
	if (!(differs >> 63)) {
		struct abi_block stale = {};

		if (live_take(ctl, key, &stale)) {
			count(ABI_BLOCKS_REPLACED, 1);
			traffic_gone(key, &stale);
			kernel_gone(key, &stale);
		}
	}
	if (live_fits(key, block->size_bytes)) {
		if (live_put_into(load1 > load2 ? b2 : b1, word, block) ||
		    live_put_into(load1 > load2 ? b1 : b2, word, block))
			return 1;
	}
	/* Counted first, so that another processor that removes a block does not miss
	 * it. */
	__sync_fetch_and_add(&ctl->spilled_blocks, 1);
	if (live_spill.update(&key, (struct abi_block *)block) == 0)
		return 1;
	__sync_fetch_and_add(&ctl->spilled_blocks, -1);
	count(ABI_BLOCKS_FULL, 1);
	return 0;
}

/* Record a block. If `old_key` is not 0, it replaces that block, which was removed
 * before. Returns 0, counted, if the tables are full. */
ALWAYS_INLINE int live_put(struct abi_control *ctl, u64 key, u64 old_key,
			   const struct abi_block *block)
{
	u64 draining = journal_add(ctl, key, old_key, block);
	int is_stored = live_put_anywhere(ctl, key, block);

	journal_changed(ctl, draining);
	return is_stored;
}
