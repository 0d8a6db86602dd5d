/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Numbers of call paths on kernels without BPF compare-and-exchange, in place of
 * arrays/stack_number.c. `stack_numbers` maps both hashes of a path to its number. `stack_claims`
 * has the numbers that are taken. memtrace takes numbers in the same way
 * (drain/stack_store.c).
 */

BPF_F_TABLE("hash", struct abi_stack_key, u32, stack_numbers, ENTRIES(MAX_STACKS), 0);
BPF_F_TABLE("hash", u32, u32, stack_claims, ENTRIES(MAX_STACKS), 0);

/*
 * Take a free number; ABI_NO_STACK if none is found. A program first increments
 * `stacks_used`, and then takes the first free number from its old value on. So all taken
 * numbers are below `stacks_used`. If several programs do this at the same time, each of
 * them may need one more try for each other program. If the kernel interrupts a program
 * meanwhile, all those numbers may be taken: it begins again, and one number stays unused.
 */
ALWAYS_INLINE u32 stack_take_number(struct abi_control *ctl)
{
	u64 from = *(volatile u64 *)&ctl->stacks_used;

	if (from >= MAX_STACKS)
		return ABI_NO_STACK;
	stack_ask(from, from * STACK_DEPTH);
	/* A number that is taken cannot be given back. */
	if (!stack_has_parts(from, from * STACK_DEPTH))
		return ABI_NO_STACK;
	__sync_fetch_and_add(&ctl->stacks_used, 1);
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < ABI_STACK_CLAIM_TRIES * ABI_STACK_CLAIM_PLACES; i++) {
		u32 offset = i % ABI_STACK_CLAIM_TRIES;

		if (i && !offset) {
			from = *(volatile u64 *)&ctl->stacks_used;
			__sync_fetch_and_add(&ctl->stacks_used, 1);
		}

		u32 number = from + offset, taken = 1;

		if (number >= MAX_STACKS)
			break;
		if (stack_claims.insert(&number, &taken) == 0)
			return number;
	}
	return ABI_NO_STACK;
}

/* The number of the stack that was walked in `s`. The end of the walk is known. */
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
		head = stack_head(number);
	/* Each number has room for the deepest stack: without atomics the probes cannot
	 * allocate less. */
	if (head && stack_write(head, w, s, allocator, (u64)number * STACK_DEPTH)) {
		if (stack_numbers.insert(&key, &number) == 0)
			return number;
		/* Either another processor or memtrace has stored the same path
		 * meanwhile, and this record stays unused. Or the hash is full. */
		store_release(&head->check, 0);
		known = stack_numbers.lookup(&key);
		if (known)
			return *known;
	}

	u64 used = READ_ONCE(t->ctl->stacks_used);

	return stack_not_stored(t, w, s, allocator,
				stack_is_allowed(used, used * STACK_DEPTH));
}
