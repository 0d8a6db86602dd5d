/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls between entry and return, one a thread: the outermost. What an allocation
 * function calls inside itself belongs to it and is not counted again.
 */

/* Is the return address at `sp` still `caller`, as when the call began, or has another
 * tracer's return probe replaced it? */
ALWAYS_INLINE int caller_is_there(u64 sp, u64 caller)
{
	u64 word = 0;

	if (bpf_probe_read_user(&word, 8, (void *)sp))
		return 0;
#ifdef OFFSET_XOL_VADDR
	if (word != caller)
		return word && word == trampoline_address();
#endif
	return word == caller;
}

/*
 * Is the call that `p` describes still running, seen from a call that begins at `sp`?
 * It is not when its frame was unwound past by longjmp or an exception, or when its
 * thread died and another got its kernel stack. It is when
 * - the stack pointer is not above its frame,
 * - its return address is still the return probe's trampoline, and
 * - the new call comes from an allocator's own code, or by a tail call: a longjmp can
 *   leave the old words in a frame that does not write to them.
 * Where sites inside the function see the result there is no trampoline of ours. There the
 * call is running while its return address is the one that it began with, or another
 * tracer's trampoline. When the new call begins at the same stack pointer, it runs another
 * function, reached by a tail call; the same function again means that a longjmp left the
 * first call. `number` is the new call's site, ABI_MAX_SITES when it is not known.
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
		/* What comes is a call of its own, by a signal handler. */
		if (p->flags & ABI_PENDING_ALONE)
			return 0;
		return !bpf_probe_read_user(&caller, 8, (void *)sp) &&
		       in_allocator(t->process, caller);
	}

	if (bpf_probe_read_user(&caller, 8, (void *)sp))
		return 0;
#ifdef OFFSET_XOL_VADDR
	u64 slot = 0, trampoline = trampoline_address();

	if (bpf_probe_read_user(&slot, 8, (void *)p->sp) || slot != trampoline)
		return 0;
	if (caller == trampoline)
		return 1;
#endif
	return in_allocator(t->process, caller);
}

/* What a thread freed last. */
ALWAYS_INLINE struct abi_last_free *last_free_of(u64 caller)
{
	u32 at = ABI_CALLER_AT(caller, ABI_LAST_FREE_BITS);

	return last_free.lookup(&at);
}

/* Is it this thread's? */
ALWAYS_INLINE int last_free_is(const struct abi_last_free *last, u64 caller)
{
	return (last->owner ^ caller) >> ABI_CALLER_TID_BITS == 0;
}

/* A call of this thread begins: the thread's number. In one process nothing else asks for
 * the task, and the answer takes 20 ns and more: it is kept. */
ALWAYS_INLINE u32 tracee_begins(const struct tracee *t)
{
#ifdef KEEPS_TIDS
	struct abi_last_free *last = last_free_of(t->caller);
	u32 tid = 0;

	if (last && last_free_is(last, t->caller))
		tid = ABI_CALLER_TID(last->owner);
	if (tid)
		return tid;
	tid = *(u32 *)(get_current_task_btf() + OFFSET_TASK_PID);
	if (!last || !t->ctl->keeps_tids)
		return tid;
	/* Another thread's place stays its own: what it freed is of more use. */
	if (!last->owner)
		last->key = 0;
	else if (!last_free_is(last, t->caller))
		return tid;
	publish(&last->owner, t->caller | tid);
	return tid;
#else
	return tracee_tid(t);
#endif
}

#ifdef KEEPS_TIDS
ALWAYS_INLINE void tid_ends(void)
{
	struct abi_control *ctl = control_get();

	if (!ctl)
		return;

	u64 caller = caller_key(task_pt_regs(get_current_task_btf()), ctl);
	struct abi_last_free *last = last_free_of(caller);

	if (last && last_free_is(last, caller))
		publish(&last->owner, 0);
}

/* sched_process_exit: of a thread, whose kernel stack may be another's next. */
int on_thread_end(struct bpf_raw_tracepoint_args *ctx)
{
	tid_ends();
	return 0;
}
#endif

/* Is it this thread's? */
ALWAYS_INLINE int pending_is_mine(const struct tracee *t, const struct abi_pending *p)
{
	return (p->owner ^ t->caller) >> ABI_CALLER_TID_BITS == 0;
}

/* Without atomics there are no slots: a key of the hash is its thread's own. */
#ifdef NO_ATOMICS
#define pending_slot(t) ((struct abi_pending *)NULL)
#else
ALWAYS_INLINE struct abi_pending *pending_slot(const struct tracee *t)
{
	u32 at = ABI_CALLER_AT(t->caller, ABI_PENDING_BITS);

	return pending.lookup(&at);
}
#endif

/* This thread's record, or NULL. */
ALWAYS_INLINE struct abi_pending *pending_find(const struct tracee *t)
{
	struct abi_pending *p = pending_slot(t);
	u64 key = t->caller;

	if (p && pending_is_mine(t, p))
		return p;
	return t->ctl->spilled_pending ? pending_spill.lookup(&key) : NULL;
}

/* Give a record back. */
ALWAYS_INLINE void pending_end(const struct tracee *t, struct abi_pending *p)
{
	struct abi_pending *slot = pending_slot(t);
	u64 key = t->caller;

	p->flags = 0;
	if (slot && pending_is_mine(t, slot)) {
		publish(&slot->owner, 0);
	} else if (pending_spill.delete(&key) == 0) {
		__sync_fetch_and_add(&t->ctl->spilled_pending, -1);
	}
}

/* The call never returned. Its old block was not given up, as far as anyone knows. */
ALWAYS_INLINE void pending_abandon(const struct tracee *t, struct abi_pending *p)
{
	count(ABI_CALLS_ABANDONED, 1);
	if (p->flags & ABI_PENDING_HAS_OLD && !live_put(t->ctl, p->address, 0, &p->old))
		traffic_gone(p->address, &p->old);
}

/* Is this thread inside a call that is counted already? */
ALWAYS_INLINE int pending_is_inside(const struct tracee *t, u64 sp, u32 number)
{
	struct abi_pending *p = pending_find(t);

	return p && pending_is_running(t, p, sp, number);
}

/*
 * A record for the call that begins at `sp`, owned by this thread; NULL when the call
 * is nested, or (counted) when there is no room.
 */
ALWAYS_INLINE struct abi_pending *pending_begin(const struct tracee *t, u64 sp, u32 number)
{
	struct abi_pending *p = pending_find(t);

	if (p && pending_is_running(t, p, sp, number)) {
		count(ABI_NESTED_CALLS, 1);
		return NULL;
	}

	u64 key = t->caller, owner = key | tracee_begins(t);

	if (p) {
		pending_abandon(t, p);
		publish(&p->owner, owner);
		return p;
	}
	p = pending_slot(t);
	if (p && p->owner == 0 && claim_word(&p->owner, owner))
		return p;

	struct abi_pending fresh = {.owner = owner};

	__sync_fetch_and_add(&t->ctl->spilled_pending, 1);
	if (pending_spill.update(&key, &fresh) == 0)
		return pending_spill.lookup(&key);
	__sync_fetch_and_add(&t->ctl->spilled_pending, -1);
	count(ABI_PENDING_FULL, 1);
	return NULL;
}
