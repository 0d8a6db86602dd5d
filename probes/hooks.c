/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The programs at the entry of an allocation function, at the entry of free, and at their
 * returns. programs/ has those that a run may need. The result of an entry program matters only in a session (on_session()):
 * 1 means that the return of the call is not needed. */

/* The address of the return address, at an entry. */
ALWAYS_INLINE u64 return_address_at(struct pt_regs *ctx, u64 meaning)
{
	return REG_SP(ctx) + ABI_SITE_SP_DELTA(meaning);
}

ALWAYS_INLINE u64 asked_size(struct pt_regs *ctx, u32 site, u32 effect)
{
	u64 size = reg_arg(ctx, ABI_SITE_SIZE_ARG(site));

	if (ABI_SITE_COUNT_ARG(site) == ABI_ARG_NONE)
		return size;

	u64 n = reg_arg(ctx, ABI_SITE_COUNT_ARG(site));

	if (!n)
		return 0;

	u64 limit = ~0ull / n;

	/* Hidden from the compiler, which would use a 128-bit multiplication. */
	barrier_var(limit);
	/* An overflow makes the call fail; it must not look like a size of 0. */
	return size > limit ? ~0ull : n * size;
}

/* Returns 1 if the call's `address` is the address of a block. */
ALWAYS_INLINE int takes_block(u32 effect)
{
	return effect == ABI_EFFECT_REALLOC || effect == ABI_EFFECT_RESIZE ||
	       effect == ABI_EFFECT_FREE;
}

/* Returns 1 if a function whose result is seen by sites inside it has jumped to this one,
 * whose result is seen by a return probe. The return probe then sees the result. */
ALWAYS_INLINE int returns_here(const struct tracee *t, u64 sp, u32 site)
{
	struct abi_pending *p = pending_find(t);

	return p && p->sp == sp && p->flags & ABI_PENDING_INSIDE &&
	       !(site & ABI_SITE_INSIDE);
}

ALWAYS_INLINE int call_entered(const struct tracee *t, struct pt_regs *ctx, u64 meaning)
{
	if (meaning & ABI_SITE_STOPS) {
		count(ABI_CALLS_ABANDONED, 1);
		return 1;
	}

	u32 site = meaning, effect = ABI_SITE_EFFECT(site);
	u64 sp = return_address_at(ctx, meaning), size = asked_size(ctx, site, effect);
	int skips = effect == ABI_EFFECT_ALLOC || effect == ABI_EFFECT_ALLOC_OUT ||
		    effect == ABI_EFFECT_REALLOC;

	skips = skips && (site & ABI_SITE_UNRECORDED || !wanted(size));
	/* Otherwise the verifier would check the rest once for each way to get here. */
	barrier_var(skips);
	/* Calls that are not recorded have a pending record, too: otherwise a function
	 * that they call would count as a call of its own. */
	struct abi_pending *p = pending_begin(t, sp, ABI_SITE_NUMBER(meaning));

	if (!p)
		return !returns_here(t, sp, site);

	p->sp = sp;
	p->site = site;
	p->flags = 0;
	p->number = ABI_SITE_NUMBER(meaning);
	if (site & ABI_SITE_INSIDE) {
		p->flags = ABI_PENDING_INSIDE |
			   (site & ABI_SITE_ALONE ? ABI_PENDING_ALONE : 0);
		if (bpf_probe_read_user(&p->caller, 8, (void *)sp))
			p->caller = 0;
	}
	p->process = t->slot;
	p->size_bytes = size;
	p->address =
		reg_arg(ctx, effect == ABI_EFFECT_ALLOC_OUT ? ABI_SITE_OUT_ARG(site)
							    : ABI_SITE_OLD_ARG(site));
	if (takes_block(effect))
		p->address = tracee_key(t, p->address);
	if (effect != ABI_EFFECT_FREE)
		free_is_over(t->caller);
	switch (effect) {
	case ABI_EFFECT_REALLOC:
		realloc_begin(t, p);
		/* fall through */
	case ABI_EFFECT_ALLOC:
	case ABI_EFFECT_ALLOC_OUT:
		p->flags |= skips ? ABI_PENDING_SKIP : ABI_PENDING_WANTS_STACK;
		if (skips)
			traffic_other_event(t);
		break;
	case ABI_EFFECT_FREE:
		free_block(t, ctx, sp, p->address);
		break;
	case ABI_EFFECT_RESIZE:
		break;
	default:
		mapping_begin(t, ctx, p);
	}
	return 0;
}

/* A free without a return probe. */
ALWAYS_INLINE int free_entered(const struct tracee *t, struct pt_regs *ctx, u64 meaning)
{
	u64 sp = return_address_at(ctx, meaning);

	if (!pending_is_inside(t, sp, ABI_SITE_NUMBER(meaning)))
		free_block(t, ctx, sp,
			   tracee_key(t, reg_arg(ctx, ABI_SITE_OLD_ARG(meaning))));
	return 0;
}

/* On old kernels the meaning of the site is compiled into the program. */
#define ENTRY(name, find, entered, meaning)                                              \
	int name(struct pt_regs *ctx)                                                    \
	{                                                                                \
		struct tracee t;                                                         \
                                                                                         \
		return find(&t, ctx) ? entered(&t, ctx, meaning) : 1;                    \
	}

/*
 * The result of a call that has returned: the address of a block to record, or 0. `block`
 * is the address that the call stored for its caller; 0: it has to be read. With
 * `restore` set, the result is the key of an old block: after a realloc that failed, or
 * of a resized block.
 */
ALWAYS_INLINE u64 call_outcome(const struct tracee *t, struct abi_pending *p, u64 result,
			       u64 block, int *restore)
{
	u64 address = result;
	int skip = p->flags & ABI_PENDING_SKIP;

	switch (ABI_SITE_EFFECT(p->site)) {
	case ABI_EFFECT_REALLOC:
		address = realloc_end(t, p, result, restore);
		return skip && !*restore ? 0 : address;
	case ABI_EFFECT_ALLOC:
		if (!address && !skip)
			count(ABI_FAILURES, 1);
		return skip ? 0 : address;
	case ABI_EFFECT_ALLOC_OUT:
		if (skip)
			return 0;
		/* The result is an error number, an int. */
		if ((u32)result) {
			count(ABI_FAILURES, 1);
			return 0;
		}
		if (block)
			return block;
		if (bpf_probe_read_user(&address, 8, (void *)p->address)) {
			count(ABI_READ_FAILED, 1);
			return 0;
		}
		return address;
	case ABI_EFFECT_RESIZE:
		*restore = 1;
		return resize_end(t, p, result);
	default:
		return 0;
	}
}

/* End a call. `result` and `block` are as for call_outcome(). */
ALWAYS_INLINE void call_ends(const struct tracee *t, struct abi_pending *p, u64 result,
			     u64 block, u32 stack)
{
	if (is_mapping(ABI_SITE_EFFECT(p->site))) {
		mapping_end(t, p, result, stack);
		pending_end(t, p);
		return;
	}

	int restore = 0;

	p->flags |= ABI_PENDING_CHANGES;

	u64 address = call_outcome(t, p, result, block, &restore);

	if (address) {
		u64 old_key = 0;

		if (!restore) {
			/* From here on `old` is the new block. */
			if (p->flags & ABI_PENDING_HAS_OLD)
				old_key = p->address;
			p->flags = ABI_PENDING_CHANGES;
			block_allocated(&p->old, p->size_bytes, ABI_CALLER_TID(p->owner),
					stack);
		}
		/* With `restore` it is a key already, which stays the same. */
		u64 key = ABI_KEY(t->slot, address);

		int stored = live_put(t->ctl, key, old_key, &p->old);

		if (!restore && stored)
			traffic_allocated(t, key, &p->old);
		if (restore && !stored)
			traffic_gone(key, &p->old);
	}
	pending_end(t, p);
}

ALWAYS_INLINE int call_returned(struct pt_regs *ctx)
{
	struct tracee t;
	struct abi_pending *p = tracee_returns(&t, ctx) ? pending_find(&t) : NULL;

	/* The return of a nested call, or of a call that began before the attach. */
	if (!p || p->sp != RETURNED_SP(ctx))
		return 0;
	t.slot = p->process;
	t.tid = ABI_CALLER_TID(p->owner);

	/* Walk first: the walk does not depend on the outcome, and the verifier follows
	 * it once for each state before it. */
	u32 stack = p->flags & ABI_PENDING_WANTS_STACK
			    ? stack_intern(&t, ctx, ABI_SITE_ALLOCATOR(p->site), 0, 0)
			    : ABI_NO_STACK;

	/* Look it up again: otherwise the verifier would follow the walk for both places
	 * where the record may be. */
	p = pending_find(&t);
	if (p)
		call_ends(&t, p, REG_RESULT(ctx), 0, stack);
	return 0;
}
