/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The table of live blocks (abi.h). Any number of processors insert and remove at the
 * same time. A program takes a slot only by compare-and-exchange.
 */

/* The first generation; the others are as it is, but larger. */
BPF_F_TABLE("array", u32, struct abi_live_bucket, live_part, ENTRIES(LIVE_BUCKETS),
	    BPF_F_MMAPABLE | ABI_PART_FLAG);
BPF_TABLE("array_of_maps$live_part", u32, u32, live, LIVE_GENERATIONS);
BPF_F_TABLE("hash", u64, struct abi_block, live_spill, ENTRIES(LIVE_SPILL), AS_NEEDED);
BPF_F_TABLE("array", u32, struct abi_journal, journal_part, ENTRIES(JOURNAL_ENTRIES),
	    BPF_F_MMAPABLE | ABI_PART_FLAG);
BPF_TABLE("array_of_maps$journal_part", u32, u32, journal, 2);

/* Log a change before it is made, for a reader of the tables. `block` is NULL for TAKEN.
 * Returns the value of `draining` that was read, for journal_changed(). */
ALWAYS_INLINE u64 journal_add(struct abi_control *ctl, u64 key, u64 old_key,
			       const struct abi_block *block)
{
	/* Read once: another reading may begin at any time. */
	u64 draining = READ_ONCE(ctl->draining);

	if (!draining)
		return 0;

	short_key half = ABI_JOURNAL_HALF(draining);
	u64 n = __sync_fetch_and_add(&ctl->journal_used[half], 1);
	short_key at = n;
	void *part = n < ABI_JOURNAL_ENTRIES ? journal.lookup(&half) : NULL;
	struct abi_journal *entry = part ? bpf_map_lookup_elem(part, &at) : NULL;

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
	LOOP_BY (n, 0, ABI_LIVE_WAYS, word) {
		u64 i = n & (ABI_LIVE_WAYS - 1);

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

/* A bucket of a block in a generation, or NULL. `word` is the block's key / 8. */
ALWAYS_INLINE struct abi_live_bucket *live_bucket(short_key generation, u64 word, int second)
{
	short_key at = abi_live_hash(
		word, ABI_LIVE_BUCKETS(LIVE_BUCKETS, generation & 15), second);
	void *part = live.lookup(&generation);

	return part ? bpf_map_lookup_elem(part, &at) : NULL;
}

/* All ones if the bucket has `word`, else 0. Without branches, as live_load(): words are
 * below 2^61, so bit 63 of a difference minus 1 is set only if the difference is 0. */
ALWAYS_INLINE u64 live_has(const struct abi_live_bucket *b, u64 word)
{
	u64 same = 0;

#pragma unroll
	for (int i = 0; i < ABI_LIVE_WAYS; i++) {
		u64 less = (READ_ONCE(b->key[i]) ^ word) - 1;

		barrier_var(less);
		same |= less;
	}
	same = (u64)((s64)same >> 63);
	barrier_var(same);
	return same;
}

#define LIVE_NOWHERE (~0ull)

/* The bucket of a block in the generations before `newest`: twice the generation, plus 1
 * for the second of its two buckets; or LIVE_NOWHERE. */
ALWAYS_INLINE u64 live_find_older(u64 newest, u64 word)
{
	u64 mix = abi_live_mix(word, 0), other = abi_live_mix(word, 1) ^ mix;
	u64 found = LIVE_NOWHERE, end = 2 * newest;

	LOOP_BY (i, 0, 2 * LIVE_GENERATIONS - 1, word) {
		short_key generation = i >> 1;
		u32 buckets = ABI_LIVE_BUCKETS(LIVE_BUCKETS, generation & 15);
		short_key at = (mix ^ (other & -(i & 1))) * buckets >> 32;

		/* Hidden from the compiler, which would compute the number of rounds, and
		 * end the loop by a comparison that bounds it for the processor, but not for
		 * the verifier. */
		barrier_var(end);

		void *part = i < end ? live.lookup(&generation) : NULL;
		struct abi_live_bucket *b = part ? bpf_map_lookup_elem(part, &at) : NULL;

		if (!b)
			break;

		u64 here = live_has(b, word);

		found = ROUND_BY(word, (found & ~here) | (i & here));
	}
	return launder_by(word, found);
}

/* Remove the block `key` from the table. Returns 0 if it is not there. */
ALWAYS_INLINE int live_take(struct abi_control *ctl, u64 key, struct abi_block *ret)
{
	u64 word = key >> 3, newest = READ_ONCE(ctl->live_newest);
	struct abi_live_bucket *b = live_bucket(newest, word, 0);

	if (b && live_take_from(b, word, ret))
		return 1;
	b = live_bucket(newest, word, 1);
	if (newest && b && !live_has(b, word)) {
		u64 found = live_find_older(newest, word);

		/* NULL if nothing was found: LIVE_NOWHERE names no generation. */
		b = live_bucket(found >> 1, word, found & 1);
	}
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
	LOOP_BY (n, 0, ABI_LIVE_WAYS, word) {
		u64 i = n & (ABI_LIVE_WAYS - 1);

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

/* Ask for the generation after `newest`, unless another program has. */
ALWAYS_INLINE void live_ask(struct abi_control *ctl, u64 newest)
{
	if (newest + 1 < LIVE_GENERATIONS && READ_ONCE(ctl->live_wanted) == newest &&
	    __sync_val_compare_and_swap(&ctl->live_wanted, newest, newest + 1) == newest)
		room_news.ringbuf_output(&newest, sizeof(newest), 0);
}

ALWAYS_INLINE int live_put_anywhere(struct abi_control *ctl, u64 key,
				    const struct abi_block *block)
{
	u64 word = key >> 3;
	u64 newest = READ_ONCE(ctl->live_newest);
	struct abi_live_bucket *b1 = live_bucket(newest, word, 0);
	struct abi_live_bucket *b2 = live_bucket(newest, word, 1);

	if (!b1 || !b2)
		return 0;

	/* A block that is not in these two buckets may be elsewhere. */
	u64 differs = READ_ONCE(ctl->spilled_blocks) | newest ? 0 : 1ull << 63;
	u64 load1 = live_load(b1, word, &differs);
	u64 load2 = live_load(b2, word, &differs);

	if (load1 + load2 >= ABI_LIVE_FILLED)
		live_ask(ctl, newest);

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
