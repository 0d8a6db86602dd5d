/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Sites inside functions where the result of a call is settled (plan/returns.h). Most of
 * them end a call whose entry made a pending record; a site ends any call that returns
 * there (probes/README.md, "Calls that were left"). Where the size is known there, too,
 * one hit is the whole call (ABI_EFFECT_WHOLE).
 */

/* What the site says about the result, on the path that this call takes; 0: nothing. */
ALWAYS_INLINE u32 result_chosen(struct pt_regs *ctx, u64 meaning)
{
	u64 taken = 0, is_whole = ABI_SITE_EFFECT(meaning) == ABI_EFFECT_WHOLE;

	if (meaning & ABI_RESULT_HAS_CONDITION)
		taken = REG_CONDITION(ctx, ABI_RESULT_CONDITION(meaning));
	if (is_whole)
		return taken == !!(meaning & ABI_WHOLE_WHEN_TAKEN)
			       ? ABI_RESULT_VALUE0(meaning)
			       : 0;
	return taken ? ABI_RESULT_VALUE1(meaning) : ABI_RESULT_VALUE0(meaning);
}

ALWAYS_INLINE u64 result_read(struct pt_regs *ctx, u32 value)
{
	u64 payload = ABI_RESULT_PAYLOAD(value), word = 0;

	switch (ABI_RESULT_KIND(value)) {
	case ABI_RESULT_CONSTANT:
		return payload;
	case ABI_RESULT_FRAME:
		if (bpf_probe_read_user(&word, 8, (void *)(REG_SP(ctx) + payload * 8)))
			count(ABI_READ_FAILED, 1);
		return word;
	default:
		return reg_word(ctx, payload);
	}
}

/* The unwind rule (unwind_step.h) that leads from the site to the function's caller. */
ALWAYS_INLINE u64 result_rule(u64 meaning)
{
	u64 words = ABI_RESULT_BP_WORDS(meaning), cfa = ABI_RESULT_SP_DELTA(meaning) + 8;
	/* UNWIND_BP_SAME: rbp is still in the register. UNWIND_BP_BELOW: saved next to
	 * the return address. UNWIND_BP_AT_CFA: saved elsewhere. */
	u64 mode = words == 0 ? UNWIND_BP_SAME
			      : (words == 1 ? UNWIND_BP_BELOW : UNWIND_BP_AT_CFA);

	barrier_var(mode);
	return UNWIND_SP | mode << 4 | UNWIND_PLAIN |
	       (u64)(u16)(words ? -(s64)words - 1 : 0) << 16 | cfa << 32;
}

/* Returns 1 if the record belongs to the call that returns at `sp`. */
ALWAYS_INLINE int result_is_of(const struct tracee *t, const struct abi_pending *p,
			       u64 meaning, u64 sp)
{
	if (p->sp != sp || p->process != t->slot || !(p->flags & ABI_PENDING_INSIDE))
		return 0;
	/* In a function's own code the record was just made by its entry. Elsewhere the
	 * record may be left over from a longjmp(). */
	if (ABI_SITE_EFFECT(meaning) == ABI_EFFECT_RESULT &&
	    !(meaning & (ABI_RESULT_SHARED | ABI_RESULT_FAILS_ALONE)))
		return 1;
	return caller_is_there(sp, p->caller);
}

ALWAYS_INLINE int result_is_skipped(u64 meaning, u64 size_bytes)
{
	return meaning & ABI_RESULT_UNRECORDED || !wanted(size_bytes);
}

/* Returns 1 if a call without a record is part of the call of `p`. If that call is not
 * running any more, its record is removed. */
ALWAYS_INLINE int result_is_nested(const struct tracee *t, struct abi_pending *p, u64 sp)
{
	if (!p)
		return 0;
	if (pending_is_running(t, p, sp, ABI_MAX_SITES)) {
		count(ABI_NESTED_CALLS, 1);
		return 1;
	}
	pending_abandon(t, p);
	return 0;
}

/* A call fails whose entry was not seen, so its size is unknown. Filters treat it as the
 * largest size: most calls that fail ask for too much. */
ALWAYS_INLINE void result_refused(const struct tracee *t, u64 meaning)
{
	free_is_over(t->caller);
	if (result_is_skipped(meaning, ~0ull))
		traffic_other_event(t);
	else
		count(ABI_FAILURES, 1);
}

/* First part of a call without a record. Returns 1 if it has a block to record. */
ALWAYS_INLINE int result_begins(const struct tracee *t, struct pt_regs *ctx, u64 meaning,
				u64 result)
{
	u64 size = reg_word(ctx, ABI_WHOLE_SIZE_REG(meaning));

	free_is_over(t->caller);
	/* As in asked_size(). */
	if (!result && meaning & ABI_WHOLE_PRODUCT)
		size = ~0ull;
	if (result_is_skipped(meaning, size)) {
		traffic_other_event(t);
		return 0;
	}
	if (!result)
		count(ABI_FAILURES, 1);
	return !!result;
}

ALWAYS_INLINE void result_seen(struct tracee *t, struct pt_regs *ctx)
{
	u64 meaning = site_meaning(ctx, site_at(ctx));
	u32 value = result_chosen(ctx, meaning);

	if (!ABI_RESULT_KIND(value))
		return;
	if (t->ctl->sites_retired && check_is_retired(ctx, meaning))
		return;

	u64 sp = REG_SP(ctx) + ABI_RESULT_SP_DELTA(meaning), result = result_read(ctx, value);
	u64 is_block = ABI_RESULT_KIND(value) == ABI_RESULT_BLOCK;
	struct abi_pending *p = pending_find(t);
	u32 allocator = ABI_WHOLE_ALLOCATOR(meaning), wants_stack = 1;

	if (p && result_is_of(t, p, meaning, sp)) {
		allocator = ABI_SITE_ALLOCATOR(p->site);
		wants_stack = p->flags & ABI_PENDING_WANTS_STACK;
	} else {
		u64 is_whole = ABI_SITE_EFFECT(meaning) == ABI_EFFECT_WHOLE;

		/* The call began before the attach, is nested, or failed. */
		if (!is_whole && !(meaning & ABI_RESULT_FAILS_ALONE))
			return;
		if (result_is_nested(t, p, sp))
			return;
		if (!is_whole) {
			result_refused(t, meaning);
			return;
		}
		if (!result_begins(t, ctx, meaning, result))
			return;
	}

	/* Walk first: the walk does not depend on the rest, and the verifier follows it
	 * once for each state before it. Launder what the paths to this point have
	 * computed. */
	u64 word = REG_PC(ctx);

	meaning = launder_by(word, meaning);
	result = launder_by(word, result);
	is_block = launder_by(word, is_block);
	sp = launder_by(word, sp);
	allocator = launder_by(word, allocator);
	wants_stack = launder_by(word, wants_stack);

	u32 stack = wants_stack ? stack_intern(t, ctx, allocator, result_rule(meaning),
					       !!(meaning & ABI_RESULT_NO_CFI))
				: ABI_NO_STACK;

	/* Look it up again: otherwise the verifier would follow the walk for both places
	 * where the record may be. */
	p = pending_find(t);
	if (p && p->sp == sp && p->flags & ABI_PENDING_INSIDE) {
		t->slot = p->process;
		t->tid = ABI_CALLER_TID(p->owner);
		call_ends(t, p, is_block ? 0 : result, is_block ? result : 0, stack);
	} else if (ABI_SITE_EFFECT(meaning) == ABI_EFFECT_WHOLE) {
		block_recorded(t, ABI_KEY(t->slot, result),
			       reg_word(ctx, ABI_WHOLE_SIZE_REG(meaning)),
			       tracee_begins(t), stack);
	}
}

/* Record what the site has read, for the check of its function. */
ALWAYS_INLINE void result_claimed(const struct tracee *t, struct pt_regs *ctx,
				  const struct abi_site_at *s)
{
	u64 meaning = site_meaning(ctx, s);
	u32 value = result_chosen(ctx, meaning);

	if (ABI_RESULT_KIND(value))
		check_result(t, s, REG_SP(ctx) + ABI_RESULT_SP_DELTA(meaning),
			     ABI_RESULT_KIND(value) == ABI_RESULT_BLOCK
				     ? 0
				     : result_read(ctx, value));
}

int on_result(struct pt_regs *ctx)
{
	struct tracee t;

	if (!tracee_is_here(&t, ctx))
		return 0;
	result_seen(&t, ctx);

	/* Last: otherwise the verifier would follow the rest with it and without it. */
	struct abi_site_at *s = site_at(ctx);

	if (s && s->check)
		result_claimed(&t, ctx, s);
	return 0;
}
