/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The records of call paths (abi_walk.h). */

/* The head of a stack, or NULL. */
ALWAYS_INLINE struct abi_stack_head *stack_head(u32 number)
{
	short_key at = number / STACKS_PART, element = number % STACKS_PART;
	void *part = stacks.lookup(&at);

	return part ? bpf_map_lookup_elem(part, &element) : NULL;
}

/* The return addresses from word `at` on, or NULL. */
ALWAYS_INLINE u64 *stack_words(u64 at)
{
	u32 block = at / ABI_PCS_BLOCK;
	short_key part_at = block / STACK_PCS_PART, element = block % STACK_PCS_PART;
	void *part = at < STACK_PCS_BLOCKS * (u64)ABI_PCS_BLOCK
			     ? stack_pcs.lookup(&part_at)
			     : NULL;
	u64 *words = part ? bpf_map_lookup_elem(part, &element) : NULL;

	return words ? words + (at & (ABI_PCS_BLOCK - 1)) : NULL;
}

/* Are the parts there for the stack `number`, whose words begin at `at`? */
ALWAYS_INLINE int stack_has_parts(u32 number, u64 at)
{
	return stack_head(number) && stack_words(at);
}

/* Wake memtrace if parts are missing ahead of the stack `number`, whose words begin at
 * `at`. */
ALWAYS_INLINE void stack_ask(u32 number, u64 at)
{
	u64 part_words = STACK_PCS_PART * (u64)ABI_PCS_BLOCK;
	short_key ahead = number / STACKS_PART + STACKS_AHEAD;
	short_key words_ahead = at / part_words + STACK_PCS_AHEAD;
	u64 is_missing = 0;

	if (ahead >= STACKS_PARTS)
		ahead = STACKS_PARTS - 1;
	if (words_ahead >= STACK_PCS_PARTS)
		words_ahead = STACK_PCS_PARTS - 1;
	if (number >= ABI_PART_EIGHTH(STACKS_PART))
		is_missing = !stacks.lookup(&ahead);
	if (at >= ABI_PART_EIGHTH(part_words))
		is_missing |= !stack_pcs.lookup(&words_ahead);
	if (is_missing)
		room_news.ringbuf_output(&is_missing, sizeof(is_missing), 0);
}

/* Fill in the head of the stack that was walked in `s`, and store its return addresses in
 * `stack_pcs` from word `at` on. Returns 0 if they do not fit. */
ALWAYS_INLINE int stack_write(struct abi_stack_head *head, const struct walk *w,
			      const struct abi_scratch *s, u32 allocator, u64 at)
{
	u64 bytes = w->depth * 8ull;
	u64 *words = stack_words(at);
	u64 check = w->h.check;

	/* The verifier needs to see this bound here. */
	barrier_var(bytes);
	if (!words || bytes > STACK_DEPTH * 8)
		return 0;
	bpf_probe_read_kernel(words, bytes, s->walked.pc);
	head->family = s->walked.family;
	head->allocator = allocator;
	head->depth = w->depth;
	head->gap = walk_gap(w);
	head->end = w->end;
	head->at = at;
	store_release(&head->check, check);
	if (w->end == ABI_END_DEPTH)
		count(ABI_STACKS_TRUNCATED, 1);
	if (w->end == ABI_END_UNREADABLE)
		count(ABI_STACKS_UNREADABLE, 1);
	return 1;
}

/* May a stack have the number `next`, and its words begin at `at`? If not, there are as
 * many stacks as there may be. */
ALWAYS_INLINE int stack_is_allowed(u64 next, u64 at)
{
	return next < MAX_STACKS && at < STACK_PCS_BLOCKS * (u64)ABI_PCS_BLOCK;
}

/* The stack that was walked in `s` was not stored. If the tables can still grow, send it
 * to the miss handler, which adds the parts itself, and return its ABI_MISS_STACK()
 * number. Otherwise return ABI_NO_STACK, counted. */
ALWAYS_INLINE u32 stack_not_stored(const struct tracee *t, const struct walk *w,
				   struct abi_scratch *s, u32 allocator, int can_grow)
{
	u32 number = ABI_NO_STACK;

	if (can_grow)
		number = miss_send_walked(t, w, s, allocator);
	if (number == ABI_NO_STACK)
		count(ABI_STACKS_FULL, 1);
	return number;
}
