/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Numbers of call paths, by their hash in the table `stack_index` (abi_walk.h). */

BPF_F_TABLE("array", u32, struct abi_stack_bucket, stack_index_part,
	    ENTRIES(STACK_BUCKETS_1), BPF_F_MMAPABLE | ABI_PART_FLAG);
BPF_TABLE("array_of_maps$stack_index_part", u32, u32, stack_index, STACK_INDEX_PARTS);

/* The number of buckets in a part of the index. */
ALWAYS_INLINE u32 stack_buckets(u32 part)
{
	return part == 0 ? STACK_BUCKETS_1 : part == 1 ? STACK_BUCKETS_2 : STACK_BUCKETS_3;
}

/* The i-th bucket of a hash, or NULL. */
ALWAYS_INLINE struct abi_stack_bucket *stack_bucket(u64 hash, u32 i)
{
	short_key part_at = i / 2;
	short_key at = abi_live_hash(hash, stack_buckets(part_at), i % 2);
	void *part = stack_index.lookup(&part_at);

	return part ? bpf_map_lookup_elem(part, &at) : NULL;
}

/* The number in a word of a bucket if it is of the stack with this tag and this check, else
 * ABI_NO_STACK. */
ALWAYS_INLINE u32 stack_of_word(u64 word, u64 tag, u64 check)
{
	u32 number = word & ABI_STACK_NUMBER_MASK;
	struct abi_stack_head *s =
		word >> ABI_STACK_NUMBER_BITS == tag ? stack_head(number) : NULL;

	return s && READ_ONCE(s->check) == check ? number : ABI_NO_STACK;
}

/* The number of the stack with this hash in a bucket, or ABI_NO_STACK. Two stacks of one
 * tag are in different buckets (stack_index_insert()), so the first word with the tag
 * decides. */
ALWAYS_INLINE u32 stack_find_in(struct abi_stack_bucket *b, u64 tag, u64 check)
{
	u64 word = 0;

#pragma clang loop unroll(disable)
	for (int i = 0; i < ABI_STACK_WAYS; i++) {
		word = READ_ONCE(b->word[i]);
		if (word >> ABI_STACK_NUMBER_BITS == tag)
			break;
	}
	return stack_of_word(word, tag, check);
}

/* Store `number` in a free word of the bucket. If another processor has stored the same
 * stack meanwhile, return its number. ABI_NO_STACK: the bucket is full, or has another stack
 * with this tag. */
ALWAYS_INLINE u32 stack_index_insert(struct abi_stack_bucket *b, u64 tag, u64 check,
				   u32 number)
{
	u64 mine = tag << ABI_STACK_NUMBER_BITS | number, word = 0;

#pragma clang loop unroll(disable)
	for (int i = 0; i < ABI_STACK_WAYS; i++) {
		word = READ_ONCE(b->word[i]);
		if (word == 0)
			word = __sync_val_compare_and_swap(&b->word[i], 0, mine);
		if (word == 0)
			return number;
		if (word >> ABI_STACK_NUMBER_BITS == tag)
			break;
	}
	return stack_of_word(word, tag, check);
}

/* The number of a stack, or ABI_NO_STACK. */
ALWAYS_INLINE u32 stack_find(u64 hash, u64 check)
{
	u32 number = ABI_NO_STACK;

#pragma clang loop unroll(disable)
	for (u32 i = 0; i < 2 * STACK_INDEX_PARTS; i++) {
		struct abi_stack_bucket *b = stack_bucket(hash, i);

		if (!b)
			break;
		number = stack_find_in(b, ABI_STACK_TAG(hash), check);
		if (number != ABI_NO_STACK)
			break;
	}
	return number;
}

/* As stack_index_insert(), in the first bucket that has room. */
ALWAYS_INLINE u32 stack_insert(u64 hash, u64 check, u32 number)
{
	u32 stored = ABI_NO_STACK;

#pragma clang loop unroll(disable)
	for (u32 i = 0; i < 2 * STACK_INDEX_PARTS; i++) {
		struct abi_stack_bucket *b = stack_bucket(hash, i);

		if (!b)
			break;
		stored = stack_index_insert(b, ABI_STACK_TAG(hash), check, number);
		if (stored != ABI_NO_STACK)
			break;
	}
	return stored;
}

/* Wake memtrace if a further part of the index is missing. */
ALWAYS_INLINE void stack_index_ask(u32 number)
{
	short_key last = STACK_INDEX_PARTS > 2 && number >= STACK_BUCKETS_2 ? 2 : 1;
	u64 news = 1;

	if (STACK_INDEX_PARTS > 1 && number >= STACK_BUCKETS_1 && !stack_index.lookup(&last))
		room_news.ringbuf_output(&news, sizeof(news), 0);
}

/* Is there room for the stack `next`, whose words begin at `at`? Wakes memtrace if there
 * is little. Ask this before a number is taken: it can be given back only as long as no
 * other processor has taken the next one. */
ALWAYS_INLINE int stack_has_room(u64 next, u64 at)
{
	if (!stack_is_allowed(next, at))
		return 0;
	stack_ask(next, at);
	stack_index_ask(next);
	return stack_has_parts(next, at);
}

/* Store the stack that was walked in `s` under a new number. Returns the number. If
 * another processor has stored the same stack meanwhile, returns that number; if there is
 * no room, ABI_NO_STACK. */
ALWAYS_INLINE u32 stack_add(struct abi_control *ctl, const struct walk *w,
			    const struct abi_scratch *s, u32 allocator)
{
	u64 next = READ_ONCE(ctl->stacks_used), at = READ_ONCE(ctl->stack_pcs_used);
	u64 depth = w->depth;

	if (!stack_has_room(next, at))
		return ABI_NO_STACK;
	next = __sync_fetch_and_add(&ctl->stacks_used, 1);
	at = __sync_fetch_and_add(&ctl->stack_pcs_used, depth);

	struct abi_stack_head *head = NULL;
	u32 number = next;

	if (next < MAX_STACKS)
		head = stack_head(number);

	u32 stored = ABI_NO_STACK;

	if (head && stack_write(head, w, s, allocator, at))
		stored = stack_insert(w->h.hash, w->h.check, number);
	/* Not stored, because another processor was first, say: give the record back. If
	 * a third processor has taken the next number meanwhile, the record stays
	 * unused. */
	if (stored != number) {
		__sync_val_compare_and_swap(&ctl->stacks_used, next + 1, next);
		__sync_val_compare_and_swap(&ctl->stack_pcs_used, at + depth, at);
	}
	return stored;
}

/* The number of the stack that was walked in `s`. The end of the walk is known. */
ALWAYS_INLINE u32 stack_number(const struct tracee *t, struct walk *w,
			       struct abi_scratch *s, u32 allocator)
{
	struct abi_control *ctl = t->ctl;

	abi_stack_hash_end(&w->h, w->end, walk_gap(w));

	u32 number = stack_find(w->h.hash, w->h.check);

	if (number != ABI_NO_STACK)
		return number;
	number = stack_add(ctl, w, s, allocator);
	if (number != ABI_NO_STACK)
		return number;
	return stack_not_stored(t, w, s, allocator,
				stack_is_allowed(READ_ONCE(ctl->stacks_used),
						 READ_ONCE(ctl->stack_pcs_used)));
}
