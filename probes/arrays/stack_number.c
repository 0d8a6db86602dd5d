/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Numbers of call paths, by their hash in the table `stack_index` (abi_walk.h). */

BPF_F_TABLE("array", u32, struct abi_stack_bucket, stack_index, STACK_BUCKETS,
	    BPF_F_MMAPABLE);

/* The number of the stack with this hash in a bucket, or ABI_NO_STACK. */
ALWAYS_INLINE u32 stack_find_in(struct abi_stack_bucket *b, u64 tag, u64 check)
{
#pragma clang loop unroll(disable)
	for (int i = 0; i < ABI_STACK_WAYS; i++) {
		u64 word = READ_ONCE(b->word[i]);

		if (word >> ABI_STACK_NUMBER_BITS == tag) {
			u32 number = word & ABI_STACK_NUMBER_MASK;
			struct abi_stack_head *s = stack_head(number);

			if (s && READ_ONCE(s->check) == check)
				return number;
		}
	}
	return ABI_NO_STACK;
}

/* Store `number` in a free word of the bucket. If another processor has stored the same
 * stack meanwhile, return its number. ABI_NO_STACK: the bucket is full. */
ALWAYS_INLINE u32 stack_index_insert(struct abi_stack_bucket *b, u64 tag, u64 check,
				   u32 number)
{
	u64 mine = tag << ABI_STACK_NUMBER_BITS | number;

#pragma clang loop unroll(disable)
	for (int i = 0; i < ABI_STACK_WAYS; i++) {
		u64 word = READ_ONCE(b->word[i]);

		if (word == 0)
			word = __sync_val_compare_and_swap(&b->word[i], 0, mine);
		if (word == 0)
			return number;
		if (word >> ABI_STACK_NUMBER_BITS == tag) {
			u32 other = word & ABI_STACK_NUMBER_MASK;
			struct abi_stack_head *s = stack_head(other);

			if (s && READ_ONCE(s->check) == check)
				return other;
		}
	}
	return ABI_NO_STACK;
}

/* The number of the stack that was walked in `s`. The end of the walk is known. */
ALWAYS_INLINE u32 stack_number(const struct tracee *t, struct walk *w,
			       struct abi_scratch *s, u32 allocator)
{
	struct abi_control *ctl = t->ctl;

	abi_stack_hash_end(&w->h, w->end, walk_gap(w));

	u64 check = w->h.check, hash = w->h.hash, tag = ABI_STACK_TAG(hash);
	u32 at1 = abi_live_hash(hash, STACK_BUCKETS, 0);
	u32 at2 = abi_live_hash(hash, STACK_BUCKETS, 1);
	struct abi_stack_bucket *b1 = stack_index.lookup(&at1);
	struct abi_stack_bucket *b2 = stack_index.lookup(&at2);

	if (!b1 || !b2)
		return ABI_NO_STACK;

	u32 number = stack_find_in(b1, tag, check);

	if (number == ABI_NO_STACK)
		number = stack_find_in(b2, tag, check);
	if (number != ABI_NO_STACK)
		return number;

	if (READ_ONCE(ctl->stacks_used) >= MAX_STACKS ||
	    READ_ONCE(ctl->stack_pcs_used) >= STACK_PCS_BLOCKS * (u64)ABI_PCS_BLOCK) {
		count(ABI_STACKS_FULL, 1);
		return ABI_NO_STACK;
	}

	u64 next = __sync_fetch_and_add(&ctl->stacks_used, 1);
	u64 depth = w->depth, at = __sync_fetch_and_add(&ctl->stack_pcs_used, depth);

	number = next;

	struct abi_stack_head *head = NULL;

	if (next < MAX_STACKS)
		head = stack_head(number);
	stack_ask(number, at);

	u32 stored = ABI_NO_STACK;

	if (head && stack_write(head, w, s, allocator, at)) {
		stored = stack_index_insert(b1, tag, check, number);
		if (stored == ABI_NO_STACK)
			stored = stack_index_insert(b2, tag, check, number);
	}
	/* Not stored, because another processor was first, say: give the record back. If
	 * a third processor has taken the next number meanwhile, the record stays
	 * unused. */
	if (stored != number) {
		__sync_val_compare_and_swap(&ctl->stacks_used, next + 1, next);
		__sync_val_compare_and_swap(&ctl->stack_pcs_used, at + depth, at);
	}
	if (stored == ABI_NO_STACK)
		count(ABI_STACKS_FULL, 1);
	return stored;
}
