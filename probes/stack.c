/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Walk stacks and give call paths their numbers. Equal call paths share one record. */

ALWAYS_INLINE u32 stack_walk(const struct tracee *t, struct pt_regs *ctx,
			     struct abi_scratch *s, u32 allocator, u64 inside,
			     u64 is_blind)
{
	struct walk w;

	w.inside = inside;
	w.is_blind = is_blind;
	w.leading = 0;
	w.left.pc = 0;
	if (!walk_finds_rules(&w, t))
		return ABI_NO_STACK;
	code_look_at_tick(w.process);
	walk_begin(&w, t, ctx, s);

	struct abi_walk_start start;

	walk_started(&w, t, allocator, &start);

	u32 number = walk_repeats(&w, s, &start);

	if (number != ABI_NO_STACK)
		return number;
	code_look_again(w.process);
	walk_is_of(&w, t, s, allocator);
	*(volatile u64 *)&s->words[WALK_NOTED] = 0;
	if (!inside || walk_leave(&w))
		walk_run(&w, t, s->walked.pc);
	walk_check(&w, t, ctx, s, allocator);
	walk_settle(&w);
	walk_close_gap(&w, s->walked.pc, 0);
	number = miss_hand_over(t, ctx, &w, s, allocator);
	if (number != ABI_NO_STACK)
		return number;
	walk_hash_again(&w, s, allocator);
	number = stack_number(t, &w, s, allocator);
	walk_remember(&w, s, &start, number);
	return number;
}

/* Walk the stack and return the number of the call path. `allocator` is the number of the
 * allocator that was called. `inside` is 0 if the first frame is the one that `ctx` is
 * in. At a site inside an allocator's function `inside` is the plain rule (unwind_step.h)
 * that leads to the function's caller, which then is the first frame. `is_blind`: that
 * function has no unwind information. */
ALWAYS_INLINE u32 stack_intern(const struct tracee *t, struct pt_regs *ctx, u32 allocator,
			       u64 inside, u64 is_blind)
{
	struct abi_scratch *s = scratch_claim(t->caller);

	if (!s)
		return ABI_NO_STACK;

	u32 number = stack_walk(t, ctx, s, allocator, inside, is_blind);

	traffic_remove_paths(s, number);
	store_release(&s->owner, 0);
	return number;
}
