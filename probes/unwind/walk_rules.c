/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Stack walks by unwind rules. */

/* The rule of a key, or UNWIND_NONE. Only the first comparison branches, see
 * unwind_step.h. */
ALWAYS_INLINE u64 rule_find(const struct walk *w, const struct tracee *t, u64 key)
{
	volatile struct abi_rule_bucket *b =
		rules.lookup(walk_key(w, abi_rule_at(key, RULE_BUCKETS)));

	if (!b)
		return UNWIND_NONE;

	/* Most buckets hold one rule. */
	if (b->key[0] == key)
		return b->rule[0];

	u64 rule = unless(b->key[1] ^ key, b->rule[1]) |
		   unless(b->key[2] ^ key, b->rule[2]) |
		   unless(b->key[3] ^ key, b->rule[3]);

	if (!rule && t->ctl->spilled_rules) {
		u64 *spilled = rule_spill.lookup(walk_key(w, key));

		if (spilled)
			rule = *spilled;
	}
	return rule ? rule : cached_find(w, w->regs.pc ^ w->interrupted);
}

/* May the walk step by this rule, which is not a plain one? If not, it ends here. `signal`
 * is all ones for the rule of a signal trampoline, else 0. */
ALWAYS_INLINE int walk_can_step(struct walk *w, u64 rule, u64 signal)
{
	u64 type = UNWIND_TYPE(rule);

	if (!((rule & UNWIND_STEP) | (signal & 1))) {
		w->end = type == UNWIND_END ? ABI_END_COMPLETE : WALK_MISSED;
		return 0;
	}
	if (NO_FRAME_POINTERS && type == UNWIND_FP) {
		w->end = ABI_END_NO_FRAME;
		return 0;
	}
	u64 guess = (s64)((type ^ UNWIND_FP) - 1) >> 63;

	barrier_var(guess);
	if (unwind_fp_fault(&w->regs) & guess) {
		w->end = w->regs.bp ? ABI_END_NO_FRAME : ABI_END_COMPLETE;
		return 0;
	}
	return 1;
}

/* Read the CFA from memory, for rules that find it there. `switches` is all ones if the
 * rule leads to another stack, else 0. Returns 0 if the walk ends here. */
ALWAYS_INLINE int walk_read_cfa(struct walk *w, u64 rule, u64 switches, u64 *cfa)
{
	u64 depth, word;

	if (!walk_read_pair(w, *cfa - 8, &depth, &word)) {
		w->end = ABI_END_UNREADABLE;
		return 0;
	}
	walk_note(w, *cfa - 8, depth, word, switches);
	if (switches & 1) {
		u64 at = word, low;

		if (!walk_read_pair(w, at, &low, &word)) {
			w->end = ABI_END_UNREADABLE;
			return 0;
		}
		walk_note(w, at, low, word, ~0ull);
		if (unwind_switch_fault(depth, low, word)) {
			w->end = WALK_MISSED;
			return 0;
		}
		word -= depth;
	}
	*cfa = unwind_cfa_from(rule, word);
	return 1;
}

/* Step by a rule that is not a plain one. Returns 0 if the walk ends here. */
ALWAYS_INLINE int walk_step(struct walk *w, u64 rule)
{
	u64 type = UNWIND_TYPE(rule), cfa = unwind_cfa_at(&w->regs, rule);
	/* All ones for the rule of a signal trampoline, else 0. Steps over a trampoline
	 * use the same reads as other steps, at other addresses, which this mask selects.
	 */
	u64 signal = (s64)((type ^ UNWIND_SIGNAL) - 1) >> 63, sp = w->regs.sp;

	barrier_var(signal);
	if (!walk_can_step(w, rule, signal))
		return 0;
	u64 switches = (s64)((type ^ UNWIND_SP_SWITCH) - 1) >> 63;

	barrier_var(switches);
	if (unwind_can_step(rule) && unwind_derefs(rule) &&
	    !walk_read_cfa(w, rule, switches, &cfa))
		return 0;
	/* The CFA is on another stack, or on none: the miss handler finds out. */
	if (unwind_cfa_fault(&w->regs, cfa) & ~(signal | switches)) {
		w->end = WALK_MISSED;
		return 0;
	}
	w->regs.bp &= unwind_bp_kept(rule);

	u64 at = (cfa - 16 & ~signal) | ((sp + UNWIND_SIGNAL_SP) & signal);
	u64 first, second;

	if (!walk_read_pair(w, at, &first, &second)) {
		w->end = ABI_END_UNREADABLE;
		return 0;
	}
	walk_note(w, at, first, second, unwind_bp_beside(rule) | signal);

	u64 saved_bp = first;

	if (unwind_bp_is_apart(rule) | (signal & 1))
		saved_bp = walk_read_bp(w,
					(unwind_bp_at(&w->regs, rule, cfa) & ~signal) |
						((sp + UNWIND_SIGNAL_BP) & signal));
	if (!unwind_step_plain(&w->regs, rule | (signal & 0x20), cfa, second, saved_bp)) {
		/* The signal interrupted a call of address 0. That is not the end of the
		 * stack. */
		w->end = signal & 1 ? ABI_END_NO_FRAME : ABI_END_COMPLETE;
		return 0;
	}
	w->regs.sp = (cfa & ~signal) | (first & signal);
	w->interrupted = signal & ABI_RULE_INTERRUPTED;
	return 1;
}

/* Walk to the end of the stack. */
ALWAYS_INLINE void walk_run(struct walk *w, const struct tracee *t, u64 *pcs)
{
	LOOP (i, 0, WALK_ROUNDS, &w->words[1]) {
		if (i >= WALK_DEPTH) {
			if (!walk_turn(w, pcs))
				break;
			i = WALK_LEAF - 1;
			continue;
		}

		u64 pc = w->regs.pc;
		u64 shown = WALK_EXACT ? pc + (w->interrupted >> 63) : pc;

		u64 frame = i;

		/* Hidden: otherwise the compiler keeps a pointer, and the verifier
		 * distinguishes all later states by it. */
		barrier_var(frame);

		u64 key = ABI_RULE_KEY(t->slot, pc, w->interrupted);
		u64 rule = rule_find(w, t, key);

		/* Start the frame again: the rule is in the cache now. If the walk
		 * continued here, the verifier would check the rest of the loop once for
		 * each way to find a rule. */
		if (rule == UNWIND_NONE && cached_fill(w, t)) {
			i--;
			continue;
		}
		pcs[frame] = shown;
		abi_stack_hash_step(&w->h, shown);
		w->depth = i + 1;
		if (rule & UNWIND_PLAIN) {
			if (!walk_step_plain(w, rule))
				break;
			continue;
		}
		if (!walk_step(w, rule))
			break;
	}
}

/* Discard the walk if the rules were in doubt when it began, or came into doubt while it
 * ran. The walk then goes to the miss handler from its first frame on. */
ALWAYS_INLINE void walk_check(struct walk *w, const struct tracee *t, struct pt_regs *ctx,
			      struct abi_scratch *s, u32 allocator)
{
	volatile struct abi_process *p = w->process;

	if (p->code_known == w->code_changes && p->code_changes == w->code_changes)
		return;
	walk_begin(w, t, ctx, s);
	walk_is_of(w, t, s, allocator);
	abi_stack_hash_step(&w->h, w->regs.pc + !!WALK_EXACT);
	w->depth = 1;
	w->end = WALK_MISSED;
}
