/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sites inside an allocation function (plan/body.h): where the size and the result are
 * both there one hit is all of a call. Others have a site for each, with a record of the
 * call between them as between entry and return.
 */
#ifdef WITH_ON_BODY

/* A call, as far as it is known where its result is. */
struct body_call {
	u64 size_bytes;
	u64 result;
	u32 tid;
	u32 skip; /* filtered or sampled out */
};

ALWAYS_INLINE int body_is_skipped(u64 meaning, u64 size_bytes)
{
	return meaning & ABI_SITE_UNRECORDED || !wanted(size_bytes);
}

ALWAYS_INLINE int body_entered(const struct tracee *t, struct pt_regs *ctx, u64 meaning)
{
	u64 sp = return_address_at(ctx, meaning);
	struct abi_pending *p = pending_begin(t, sp);

	if (!p)
		return 0;

	u64 size_bytes = reg_arg(ctx, ABI_SITE_SIZE_ARG(meaning));

	p->sp = sp;
	p->site = meaning;
	p->process = t->slot;
	p->size_bytes = size_bytes;
	p->flags = ABI_PENDING_INSIDE;
	site_followed(p, meaning);
	free_is_over(t->caller);
	if (body_is_skipped(meaning, size_bytes)) {
		p->flags |= ABI_PENDING_SKIP;
		traffic_other_event(t);
	}
	return 0;
}

/* Is the call, which has no record, part of the one that `p` describes? When that is not
 * running any more its record goes. */
ALWAYS_INLINE int body_is_nested(const struct tracee *t, struct abi_pending *p, u64 sp)
{
	if (!p)
		return 0;
	if (pending_is_running(t, p, sp))
		return 1;
	pending_abandon(t, p);
	pending_end(t, p);
	return 0;
}

/* All of a call, at its only site; 0: it is another's business. */
ALWAYS_INLINE int body_whole(const struct tracee *t, struct pt_regs *ctx, u64 meaning,
			     struct abi_pending *p, struct body_call *c)
{
	if (body_is_nested(t, p, return_address_at(ctx, meaning))) {
		count(ABI_NESTED_CALLS, 1);
		site_nests(p);
		return 0;
	}
	free_is_over(t->caller);
	c->size_bytes = reg_arg(ctx, ABI_SITE_SIZE_ARG(meaning));
	c->skip = body_is_skipped(meaning, c->size_bytes);
	c->tid = tracee_begins(t);
	if (c->skip)
		traffic_other_event(t);
	return 1;
}

/* A call fails that came by no site of the entry, so that nobody knows how much it asked
 * for. It is filtered as one that asks for all there is: mostly it does. */
ALWAYS_INLINE int body_is_refused(const struct tracee *t, struct pt_regs *ctx,
				  u64 meaning, struct abi_pending *p,
				  struct body_call *c)
{
	if (body_is_nested(t, p, return_address_at(ctx, meaning)))
		return 0;
	free_is_over(t->caller);
	c->skip = body_is_skipped(meaning, ~0ull);
	if (c->skip)
		traffic_other_event(t);
	return 1;
}

/* The rest of a call that has a record; 0: it has none, or it is another's business. */
ALWAYS_INLINE int body_rest(const struct tracee *t, struct pt_regs *ctx, u64 meaning,
			    struct abi_pending *p, struct body_call *c)
{
	u64 sp = return_address_at(ctx, meaning);
	int is_failure = ABI_SITE_PART(meaning) == ABI_PART_FAILURE;

	if (p && p->sp == sp && p->flags & ABI_PENDING_INSIDE) {
		c->size_bytes = p->size_bytes;
		c->skip = p->flags & ABI_PENDING_SKIP;
		c->tid = ABI_CALLER_TID(p->owner);
		pending_end(t, p);
	} else if (!is_failure || !body_is_refused(t, ctx, meaning, p, c)) {
		/* Nested, or entered before the attach. */
		return 0;
	}
	if (is_failure)
		c->result = 0;
	return 1;
}

int on_body(struct pt_regs *ctx)
{
	struct tracee t;

	if (!tracee_is_here(&t, ctx))
		return 0;

	u64 meaning = site_meaning(ctx, site_at(ctx));
	u32 part = ABI_SITE_PART(meaning);

	if (part == ABI_PART_ENTRY)
		return body_entered(&t, ctx, meaning);
	if (part == ABI_PART_STOP) {
		count(ABI_CALLS_ABANDONED, 1);
		return 0;
	}

	struct body_call c = {.result = REG_RESULT(ctx)};
	struct abi_pending *p = pending_find(&t);
	int is_ours = part == ABI_PART_WHOLE ? body_whole(&t, ctx, meaning, p, &c)
					     : body_rest(&t, ctx, meaning, p, &c);

	if (!is_ours)
		return 0;
	if (!c.result && !c.skip)
		count(ABI_FAILURES, 1);
	if (!c.result || c.skip)
		return 0;

	u32 stack = stack_intern(&t, ctx, ABI_SITE_ALLOCATOR(meaning), 1);

	block_recorded(&t, ABI_KEY(t.slot, c.result), c.size_bytes, c.tid, stack);
	return 0;
}
#endif
