/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Stack walks: by the unwind rules of abi_walk.h (walk_rules.c), or, in a program without
 * rules, by frame pointer alone (walk_pointers.c).
 */

ALWAYS_INLINE void walk_begin(struct walk *w, const struct tracee *t, struct pt_regs *ctx,
			      struct abi_scratch *s)
{
	w->window = s->window;
	w->words = s->words;
	w->read = s->read;
	w->regs.pc = REG_PC(ctx);
	w->regs.sp = REG_SP(ctx);
	u64 bp = REG_FP(ctx);

	/* Load the value here: the compiler must not select an address to load from,
	 * because a probe's context cannot be indexed. */
	barrier_var(bp);
	w->regs.bp = bp;
	w->base = launder(&w->words[0], 0);
	w->depth = 0;
	w->end = ABI_END_DEPTH;
	walk_deep_begin(w);
	w->bp_counts = ~0ull;
	walk_rules_begin(w);
}

/* Begin the hash of the walk with the family and the allocator. */
ALWAYS_INLINE void walk_is_of(struct walk *w, const struct tracee *t,
			      struct abi_scratch *s, u32 allocator)
{
	u64 family = walk_family(w, t);

	s->walked.family = family;
	abi_stack_hash_begin(&w->h, family, allocator, run_value(ABI_RUN_STACK_SEED));
}

/* The walk has ended. Launder the result through memory so that the verifier merges the
 * states and checks what follows only once. */
ALWAYS_INLINE void walk_settle(struct walk *w)
{
	w->end = launder(&w->words[2], w->end);
	w->depth = launder(&w->words[2], w->depth);
	w->regs.pc = launder(&w->words[2], w->regs.pc);
	w->regs.sp = launder(&w->words[2], w->regs.sp);
	w->regs.bp = launder(&w->words[2], w->regs.bp);
	walk_is_at(w, w->interrupted);
}

/* Read the bp that is saved at the address `at`. Returns 0 if it cannot be read; no frame
 * record is at address 0. */
ALWAYS_INLINE u64 walk_read_bp(struct walk *w, u64 at)
{
	u64 unused, bp;

	if (!walk_read_pair(w, at - 8, &unused, &bp))
		bp = 0;
	walk_note(w, at - 8, 0, bp, 0);
	return bp;
}

/* Step by a plain rule. Returns 0 if the walk ends here. */
ALWAYS_INLINE int walk_step_plain(struct walk *w, u64 rule)
{
	u64 cfa = unwind_cfa_at(&w->regs, rule), below, return_address;

	/* The CFA is on another stack, or on none: the miss handler finds out. */
	if (unwind_cfa_fault(&w->regs, cfa)) {
		w->end = WALK_MISSED;
		return 0;
	}
	if (!walk_read_pair(w, cfa - 16, &below, &return_address)) {
		w->end = ABI_END_UNREADABLE;
		return 0;
	}
	walk_note(w, cfa - 16, below, return_address, unwind_bp_beside(rule));
	if (unwind_bp_is_apart(rule))
		below = walk_read_bp(w, cfa + unwind_bp_offset(rule));
	if (!unwind_step_plain(&w->regs, rule, cfa, return_address, below)) {
		w->end = ABI_END_COMPLETE;
		return 0;
	}
	walk_is_at(w, 0);
	return 1;
}

/* A walk that begins inside an allocator's function: step to the caller of that function.
 * Returns 0 if that is not possible. */
ALWAYS_INLINE int walk_leave(struct walk *w)
{
	u64 rule = launder(&w->words[6], w->inside);

	walk_leaves(w, rule);
	if (!walk_step_plain(w, rule))
		return 0;
	walk_has_left(w);
	return 1;
}
