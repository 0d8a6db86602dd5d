/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The records of call paths (abi_walk.h). */

/* Fill in the head of the stack that was walked in `s`, and store its return addresses in
 * `stack_pcs` from word `at` on. Returns 0 if they do not fit. */
ALWAYS_INLINE int stack_write(struct abi_stack_head *head, const struct walk *w,
			      const struct abi_scratch *s, u32 allocator, u64 at)
{
	u64 bytes = w->depth * 8ull;
	u32 block = at / ABI_PCS_BLOCK;
	u64 *words = at < STACK_PCS_BLOCKS * (u64)ABI_PCS_BLOCK
			     ? (u64 *)stack_pcs.lookup(&block)
			     : NULL;
	u64 check = w->h.check;

	/* The verifier needs to see this bound here. */
	barrier_var(bytes);
	if (!words || bytes > STACK_DEPTH * 8)
		return 0;
	bpf_probe_read_kernel(words + (at & (ABI_PCS_BLOCK - 1)), bytes, s->pc);
	head->family = s->family;
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
