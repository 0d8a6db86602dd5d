/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The walk of an allocation has ended. If it missed a rule, send it to the miss handler.
 * Returns the number that it got, or ABI_NO_STACK if it keeps what was found. */
ALWAYS_INLINE u32 miss_hand_over(const struct tracee *t, struct pt_regs *ctx,
				 struct walk *w, struct abi_scratch *s, u32 allocator)
{
	/* The function has no unwind information, and walk_leave() found no caller: the
	 * miss handler could not continue either. */
	if (walk_missed(w) && w->is_blind && !w->left.pc)
		w->end = ABI_END_UNREADABLE;
	if (walk_missed(w)) {
		s->start.pc = 0;

		u32 number = miss_send(t, ctx, w, s, allocator);

		if (number != ABI_NO_STACK)
			return number;
		w->end = ABI_END_NO_RULE;
	}
	w->end = launder(&w->words[2], w->end);
	return ABI_NO_STACK;
}
