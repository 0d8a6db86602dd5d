/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Accounting of heap blocks: how entries and returns change the live table. */

/* A block was allocated: fill in its record `block`. */
ALWAYS_INLINE void block_allocated(struct abi_block *block, u64 size_bytes, u32 tid,
				   u32 stack)
{
	u64 ticks = tick_now();

	block->size_bytes = size_bytes;
	block->stack = stack;
	block->thread = ABI_THREAD(tid, ticks);
	block->tick = ticks;
	count_both(ABI_ALLOCATIONS, 1, ABI_ALLOCATED_BYTES, size_bytes);
	count_estimate(ABI_ESTIMATED_ALLOCATIONS, ABI_ESTIMATED_ALLOCATED_BYTES,
		       size_bytes);
}

/* The same for a call that is seen as a whole, and has no pending record. */
ALWAYS_INLINE void block_recorded(const struct tracee *t, u64 key, u64 size_bytes,
				  u32 tid, u32 stack)
{
	struct abi_block block = {};

	block_allocated(&block, size_bytes, tid, stack);
	if (live_put(t->ctl, key, 0, &block))
		traffic_allocated(t, key, &block);
}

ALWAYS_INLINE void block_freed(u64 size_bytes)
{
	count_both(ABI_FREES, 1, ABI_FREED_BYTES, size_bytes);
	count_estimate(ABI_ESTIMATED_FREES, ABI_ESTIMATED_FREED_BYTES, size_bytes);
}

/* Remove the old block of a realloc at entry: its address may be given to another thread
 * before the call returns. */
ALWAYS_INLINE void realloc_begin(const struct tracee *t, struct abi_pending *p)
{
	struct abi_block old = {};

	p->flags |= ABI_PENDING_CHANGES;
	if (p->address && live_take(t->ctl, p->address, &old)) {
		/* It stays live as long as the call may fail. */
		u64 draining =
			journal_add(t->ctl, p->address, ABI_JOURNAL_HELD, &old);

		p->old = old;
		p->flags |= ABI_PENDING_HAS_OLD;
		/* The atomic operation that journal_changed() requires. */
		__sync_fetch_and_add(&p->atomic, 1);
		journal_changed(t->ctl, draining);
		if (traffic_is_temporary(t, p->address, &old))
			p->flags |= ABI_PENDING_TEMPORARY;
	}
	p->flags &= ~ABI_PENDING_CHANGES;
}

/* Returns the address of the call's new block, or 0. If the old block has to be restored,
 * sets `restore` and returns the key of the old block. */
ALWAYS_INLINE u64 realloc_end(const struct tracee *t, struct abi_pending *p, u64 result,
			      int *restore)
{
	/* realloc(p, 0) frees p and returns NULL (glibc); any other NULL is a failure
	 * that leaves the old block as it was. */
	if (!result && (p->size_bytes || !p->address)) {
		count(ABI_FAILURES, 1);
		*restore = p->flags & ABI_PENDING_HAS_OLD;
		return *restore ? p->address : 0;
	}
	if (p->flags & ABI_PENDING_HAS_OLD) {
		block_freed(p->old.size_bytes);
		traffic_freed(t, &p->old, !!(p->flags & ABI_PENDING_TEMPORARY));
		if (!result || p->flags & ABI_PENDING_SKIP)
			journal_add(t->ctl, 0, p->address, NULL);
	} else if (p->address) {
		count(ABI_FREES_UNKNOWN, 1);
	}
	return result;
}

/* Returns 1 if this free is part of the free that the thread began last: of the same
 * block, by another function that was called or jumped to from there. */
ALWAYS_INLINE int free_is_inside(struct pt_regs *ctx, u64 sp, u64 caller, u64 key)
{
	struct abi_last_free *last = last_free_of(caller);

	return last && last_free_is(last, caller) && last->key == key && last->sp >= sp &&
	       last->function != REG_PC(ctx);
}

ALWAYS_INLINE void free_begins(struct pt_regs *ctx, u64 sp, u64 caller, u64 key)
{
	struct abi_last_free *last = last_free_of(caller);

	if (!last)
		return;
	if (!last_free_is(last, caller))
		last->owner = caller;
	last->key = key;
	last->sp = sp;
	last->function = REG_PC(ctx);
}

/* An allocation begins: the allocator may reuse the block that this thread freed last. */
ALWAYS_INLINE void free_is_over(u64 caller)
{
	struct abi_last_free *last = last_free_of(caller);

	if (last && last_free_is(last, caller))
		last->key = 0;
}

/* `key` is the key of the block; 0: none. */
ALWAYS_INLINE void free_block(const struct tracee *t, struct pt_regs *ctx, u64 sp,
			      u64 key)
{
	struct abi_block old = {};

	if (!key)
		return;

	u64 draining = journal_add(t->ctl, key, 0, NULL);
	int is_taken = live_take(t->ctl, key, &old);

	journal_changed(t->ctl, draining);
	if (is_taken) {
		block_freed(old.size_bytes);
		traffic_freed(t, &old, traffic_is_temporary(t, key, &old));
	} else {
		if (free_is_inside(ctx, sp, t->caller, key))
			return;
		count(ABI_FREES_UNKNOWN, 1);
		traffic_other_event(t);
	}
	free_begins(ctx, sp, t->caller, key);
}

/* A call that can change a block's size in place has returned. Returns the key of the
 * block if it has to be stored again with its new size, the same stack and the same age;
 * else 0. */
ALWAYS_INLINE u64 resize_end(const struct tracee *t, struct abi_pending *p, u64 result)
{
	struct abi_block old = {};

	if (result < p->size_bytes || !p->address || !live_take(t->ctl, p->address, &old))
		return 0;
	if (p->size_bytes > old.size_bytes)
		count(ABI_ALLOCATED_BYTES, p->size_bytes - old.size_bytes);
	else
		count(ABI_FREED_BYTES, old.size_bytes - p->size_bytes);
	traffic_resized(t, &old, p->size_bytes);
	p->old = old;
	p->old.size_bytes = p->size_bytes;
	return p->address;
}
