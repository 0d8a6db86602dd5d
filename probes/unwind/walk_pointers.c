/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Stack walks by frame pointers, without unwind rules. */

/* Without rules a walk is always valid. */
#define walk_check(w, t, ctx, s, allocator) ((void)0)

/* Walk to the end of the stack. */
ALWAYS_INLINE void walk_run(struct walk *w, const struct tracee *t, u64 *pcs)
{
	struct put_back back;

	put_back_begin(&back, w);
	/* The return address of the allocator's function itself. */
	if (w->inside)
		(void)put_back(&back, w, w->regs.sp - 8, &w->regs.pc);
	LOOP (i, WALK_FIRST, WALK_ROUNDS, &w->words[1]) {
		if (i >= WALK_DEPTH) {
			if (!walk_turn(w, pcs))
				break;
			i = WALK_LEAF - 1;
			continue;
		}

		u64 saved_bp, return_address, at = w->regs.bp;
		u64 pc = w->regs.pc + (WALK_EXACT && !i);

		pcs[i] = pc;
		abi_stack_hash_step(&w->h, pc);
		w->depth = i + 1;
		if (!unwind_fp_usable(&w->regs)) {
			/* Even if bp is 0, the end of a chain: code without frame
			 * pointers may have a 0 in bp, too. */
			w->end = ABI_END_NO_FRAME;
			break;
		}
		if (!walk_read_pair(w, at, &saved_bp, &return_address)) {
			w->end = ABI_END_UNREADABLE;
			break;
		}
		walk_note(w, at, saved_bp, return_address, ~0ull);
		if (!put_back(&back, w, at + 8, &return_address)) {
			w->end = ABI_END_NO_FRAME;
			break;
		}
		if (!unwind_step_fp(&w->regs, saved_bp, return_address)) {
			w->end = ABI_END_COMPLETE;
			break;
		}
	}
}
