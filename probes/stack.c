/* SPDX-License-Identifier: Apache-2.0 */
/* Call paths: each has one record, however often it is walked. */

#ifndef EVENTS
ALWAYS_INLINE u32 stack_walk(const struct tracee *t, struct pt_regs *ctx,
			     struct abi_scratch *s, u32 allocator, u64 inside,
			     u64 is_blind)
{
	struct walk w;

	w.inside = inside;
#ifdef UNWIND_RULES
	w.is_blind = is_blind;
	w.left.pc = 0;
	if (!walk_finds_rules(&w, t))
		return ABI_NO_STACK;
#endif
	walk_begin(&w, t, ctx, s, allocator);

	struct abi_walk_start start;

	walk_started(&w, t, allocator, &start);

	u32 number = walk_repeats(&w, s, &start);

	if (number != ABI_NO_STACK)
		return number;
#ifdef LOOKS_AT_TICKS
	code_look(w.process);
#endif
	*(volatile u64 *)&s->words[WALK_NOTED] = 0;
	if (!inside || walk_leave(&w))
		walk_run(&w, t, s->pc);
	walk_check(&w, t, ctx, s, allocator);
	walk_settle(&w);
#ifdef UNWIND_RULES
	/* Without its caller nobody can say more. */
	if (w.end == WALK_MISSED && is_blind && !w.left.pc)
		w.end = ABI_END_UNREADABLE;
	if (w.end == WALK_MISSED) {
		s->start.pc = 0;
		number = miss_hand_over(t, ctx, &w, s, allocator);
		if (number != ABI_NO_STACK)
			return number;
		w.end = ABI_END_UNLEARNED;
	}
#endif
	number = stack_number(t, &w, s, allocator);
	walk_remember(&w, s, &start, number);
	return number;
}

/* The number of the call path that `ctx` returns into, from a call of the allocator of
 * this number; or, with `inside`, that has led to the call whose function it is in: the
 * plain rule (unwind_step.h) by which that one's caller is found. `is_blind`: that
 * function has no unwind information. */
ALWAYS_INLINE u32 stack_intern(const struct tracee *t, struct pt_regs *ctx, u32 allocator,
			       u64 inside, u64 is_blind)
{
	struct abi_scratch *s = scratch_claim(t->caller);

	if (!s)
		return ABI_NO_STACK;

	u32 number = stack_walk(t, ctx, s, allocator, inside, is_blind);

	traffic_forget_paths(s, number);
	publish(&s->owner, 0);
	return number;
}
#endif
