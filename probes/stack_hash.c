/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call paths by number in place of stack_table.c, where BPF has no compare-and-exchange:
 * `stack_numbers` has the numbers by both hashes of a path, and `stack_claims` those that
 * are taken. Memtrace takes numbers, too, and the same way (bpf/stack_store.c).
 */

/*
 * A number that nobody has, or ABI_NO_STACK. Each that takes one adds to `stacks_used`
 * before, and takes the first that is free from what was there on: so all that are taken
 * are below it. Of those that take part at once each may need one try more.
 */
ALWAYS_INLINE u32 stack_take_number(struct abi_control *ctl)
{
	u64 from = *(volatile u64 *)&ctl->stacks_used;

	if (from >= MAX_STACKS)
		return ABI_NO_STACK;
	__sync_fetch_and_add(&ctl->stacks_used, 1);
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < ABI_STACK_CLAIM_TRIES; i++) {
		u32 number = from + i, taken = 1;

		if (number >= MAX_STACKS)
			break;
		if (stack_claims.insert(&number, &taken) == 0)
			return number;
	}
	return ABI_NO_STACK;
}

/* The number of the stack that was walked in `s`, with its end known. */
ALWAYS_INLINE u32 stack_number(const struct tracee *t, struct walk *w,
			       struct abi_scratch *s, u32 allocator)
{
	abi_stack_hash_end(&w->h, w->end, walk_gap(w));

	struct abi_stack_key key = {w->h.hash, w->h.check};
	u32 *known = stack_numbers.lookup(&key);

	if (known)
		return *known;

	u32 number = stack_take_number(t->ctl);
	struct abi_stack_head *head = NULL;

	if (number != ABI_NO_STACK)
		head = (struct abi_stack_head *)stacks.lookup(&number);
	/* Each number has room for the deepest stack: without atomics nothing shorter can
	 * be given out. */
	if (!head || !stack_write(head, w, s, allocator, (u64)number * STACK_DEPTH)) {
		count(ABI_STACKS_FULL, 1);
		return ABI_NO_STACK;
	}
	if (stack_numbers.insert(&key, &number) == 0)
		return number;
	/* Another processor has published the same path meanwhile, or memtrace has, and
	 * the record stays unused. Or there is no room. */
	publish(&head->check, 0);
	known = stack_numbers.lookup(&key);
	if (known)
		return *known;
	count(ABI_STACKS_FULL, 1);
	return ABI_NO_STACK;
}
