/* SPDX-License-Identifier: Apache-2.0 */
/* The records of call paths (abi_walk.h). */

/* Make it that of the stack that was walked in `s`. */
ALWAYS_INLINE void stack_write(struct stack_record *record, const struct walk *w,
			        const struct abi_scratch *s,
			       u32 allocator)
{
	u64 check = w->h.check;

	/* Those beyond the depth are of no meaning. */
	bpf_probe_read_kernel(record->pc, sizeof(record->pc), s->pc);
	record->head.family = s->family;
	record->head.allocator = allocator;
	record->head.depth = w->depth;
	record->head.end = w->end;
	publish(&record->head.check, check);
	if (w->end == ABI_END_DEPTH)
		count(ABI_STACKS_TRUNCATED, 1);
	if (w->end == ABI_END_UNREADABLE)
		count(ABI_STACKS_UNREADABLE, 1);
}
