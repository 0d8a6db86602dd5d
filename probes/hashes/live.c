/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Live blocks on kernels without BPF compare-and-exchange, in place of arrays/live.c. All blocks
 * are in the hash `live_spill`; the kernel lets one program at a time change a key. This
 * takes two to three times as long.
 */

BPF_F_TABLE("hash", u64, struct abi_block, live_spill, ENTRIES(LIVE_SPILL), AS_NEEDED);
BPF_RINGBUF_OUTPUT(journal, ENTRIES(JOURNAL_RING_PAGES));

/* Log a change before it is made, for a reader of the tables (abi.h). `block` is NULL for
 * TAKEN. */
ALWAYS_INLINE u64 journal_add(struct abi_control *ctl, u64 key, u64 old_key,
			      const struct abi_block *block)
{
	if (!ctl->draining)
		return 0;
	/* First, so that the reader knows of each entry that is being written. */
	__sync_fetch_and_add(&ctl->journal_used[0], 1);

	struct abi_journal *entry = journal.ringbuf_reserve(sizeof(struct abi_journal));

	if (!entry) {
		__sync_fetch_and_add(&ctl->journal_used[0], ABI_JOURNAL_LOST);
		return 0;
	}
	entry->key = key;
	entry->old_key = old_key;
	entry->size_bytes = block ? block->size_bytes : 0;
	entry->stack = block ? block->stack : 0;
	entry->thread = block ? block->thread : 0;
	entry->tick = block ? block->tick : 0;
	entry->kind = block ? ABI_JOURNAL_PUT : ABI_JOURNAL_TAKEN;
	/* No wakeup: memtrace polls. */
	journal.ringbuf_submit(entry, BPF_RB_NO_WAKEUP);
	return 0;
}

/* Late changes are not counted: a reading first waits for running programs. */
#define journal_changed(ctl, draining) ((void)(draining))

/* Remove the block `key` from the table. Returns 0 if it is not there. */
ALWAYS_INLINE int live_take(struct abi_control *ctl, u64 key, struct abi_block *ret)
{
	struct abi_block *block = live_spill.lookup(&key);

	if (!block)
		return 0;
	*ret = *block;
	/* If two frees of a block race, only one may count it. */
	return live_spill.delete(&key) == 0;
}

/* Record a block. If `old_key` is not 0, it replaces that block, which was removed
 * before. Returns 0, counted, if the table is full. */
ALWAYS_INLINE int live_put(struct abi_control *ctl, u64 key, u64 old_key,
			   const struct abi_block *block)
{
	journal_add(ctl, key, old_key, block);

	struct abi_block stale = {};

	/* The allocator has reused the address: the probes missed the free. */
	if (live_take(ctl, key, &stale)) {
		count(ABI_BLOCKS_REPLACED, 1);
		traffic_gone(key, &stale);
		kernel_gone(key, &stale);
	}
	if (live_spill.insert(&key, (struct abi_block *)block) == 0)
		return 1;
	count(ABI_BLOCKS_FULL, 1);
	return 0;
}
