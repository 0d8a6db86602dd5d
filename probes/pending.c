/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Calls between entry and return. Each thread has one: the outermost call. What an
 * allocation function calls inside itself belongs to that call and is not counted again.
 */

/* Returns 1 if the return address at `sp` is still `caller`, as when the call began, or
 * if another tracer's return probe has replaced it. */
ALWAYS_INLINE int caller_is_there(u64 sp, u64 caller)
{
	u64 word = 0;

	if (bpf_probe_read_user(&word, 8, (void *)sp))
		return 0;
	return word == caller || (word && word == trampoline_address());
}

/*
 * Returns 1 if the call of `p` is still running, as seen from a call that begins at `sp`.
 * It is not if longjmp() or an exception has unwound its frame, or if its thread died and
 * another thread got its kernel stack: probes/README.md, "Calls that were left", has the
 * conditions. `number` is the site of the new call; ABI_MAX_SITES: not known.
 */
ALWAYS_INLINE int pending_is_running(const struct tracee *t, const struct abi_pending *p,
				     u64 sp, u32 number)
{
	if (sp > p->sp || p->process != t->slot)
		return 0;

	u64 caller = 0;

	if (p->flags & ABI_PENDING_INSIDE) {
		if (!caller_is_there(p->sp, p->caller))
			return 0;
		if (sp == p->sp)
			return p->number != number;
		/* The function calls no other: a signal handler makes a call of its
		 * own. */
		if (p->flags & ABI_PENDING_ALONE)
			return 0;
		return !bpf_probe_read_user(&caller, 8, (void *)sp) &&
		       in_allocator(t->process, caller);
	}

	if (bpf_probe_read_user(&caller, 8, (void *)sp))
		return 0;

	u64 trampoline = trampoline_address();

	if (trampoline_at(p->sp) != trampoline)
		return 0;
	if (trampoline && caller == trampoline)
		return 1;
	return in_allocator(t->process, caller);
}

/* Returns 1 if the record is this thread's. */
ALWAYS_INLINE int pending_is_mine(const struct tracee *t, const struct abi_pending *p)
{
	return (READ_ONCE(p->owner) ^ t->caller) >> ABI_CALLER_TID_BITS == 0;
}

/* This thread's record, or NULL. */
ALWAYS_INLINE struct abi_pending *pending_find(const struct tracee *t)
{
	struct abi_pending *p = pending_slot(t);
	u64 key = t->caller;

	if (p && pending_is_mine(t, p))
		return p;
	return READ_ONCE(t->ctl->spilled_pending) ? pending_spill.lookup(&key) : NULL;
}

/* Release a record. */
ALWAYS_INLINE void pending_end(const struct tracee *t, struct abi_pending *p)
{
	struct abi_pending *slot = pending_slot(t);
	u64 key = t->caller;

	p->flags = 0;
	if (slot && pending_is_mine(t, slot)) {
		store_release(&slot->owner, 0);
	} else if (pending_spill.delete(&key) == 0) {
		__sync_fetch_and_add(&t->ctl->spilled_pending, -1);
	}
}

/* The call of `p` never returned. Assume that its old block is still live, and release the
 * record. */
ALWAYS_INLINE void pending_abandon(const struct tracee *t, struct abi_pending *p)
{
	count(ABI_CALLS_ABANDONED, 1);
	if (p->flags & ABI_PENDING_HAS_OLD) {
		/* Copies: otherwise the verifier would follow live_put() for both places
		 * where the record may be. */
		struct abi_block old = p->old;
		u64 key = p->address;

		if (!live_put(t->ctl, key, 0, &old))
			traffic_gone(key, &old);
	}
	/* Look it up again, for the same reason. */
	p = pending_find(t);
	if (p)
		pending_end(t, p);
}

/* Returns 1 if this thread is inside a call that is already counted. */
ALWAYS_INLINE int pending_is_inside(const struct tracee *t, u64 sp, u32 number)
{
	struct abi_pending *p = pending_find(t);

	return p && pending_is_running(t, p, sp, number);
}

/*
 * Make a record for the call that begins at `sp`, owned by this thread. Returns NULL if
 * the call is nested, or, counted, if all records are taken.
 */
ALWAYS_INLINE struct abi_pending *pending_begin(const struct tracee *t, u64 sp, u32 number)
{
	struct abi_pending *p = pending_find(t);

	if (p && pending_is_running(t, p, sp, number)) {
		count(ABI_NESTED_CALLS, 1);
		return NULL;
	}

	u64 key = t->caller, owner = key | tracee_begins(t);

	if (p)
		pending_abandon(t, p);
	p = pending_slot(t);
	if (p && READ_ONCE(p->owner) == 0 && claim_word(&p->owner, owner))
		return p;

	struct abi_pending fresh = {.owner = owner};

	__sync_fetch_and_add(&t->ctl->spilled_pending, 1);
	if (pending_spill.update(&key, &fresh) == 0)
		return pending_spill.lookup(&key);
	__sync_fetch_and_add(&t->ctl->spilled_pending, -1);
	count(ABI_PENDING_FULL, 1);
	return NULL;
}
