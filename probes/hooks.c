/* SPDX-License-Identifier: Apache-2.0 */
/* The programs: entry of an allocation function, entry of free, return of either. */

/* Process and thread as memtrace numbers them: by its own pid namespace. */
ALWAYS_INLINE u64 current_pid_tgid(void)
{
#ifdef PIDNS_INODE
	struct bpf_pidns_info ns = {};

	if (bpf_get_ns_current_pid_tgid(PIDNS_DEVICE, PIDNS_INODE, &ns, sizeof(ns)))
		return 0;
	return (u64)ns.tgid << 32 | ns.pid;
#else
	return bpf_get_current_pid_tgid();
#endif
}

/* The control record, when this probe hit is to be looked at. */
ALWAYS_INLINE struct abi_control *traced(u64 pid_tgid)
{
	struct abi_control *ctl = control_get();

	if (!ctl || !ctl->enabled || pid_tgid >> 32 != TARGET_PID)
		return NULL;
	return ctl;
}

/* Where the return address is, at an entry. */
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

	/* Hidden from the compiler, which would make a 128-bit multiplication of this. */
	__asm__ __volatile__("" : "+r"(limit));
	/* An overflow makes the call fail; it must not look like a size of 0. */
	return size > limit ? ~0ull : n * size;
}

ALWAYS_INLINE int call_entered(struct pt_regs *ctx, u64 meaning)
{
	u32 site = meaning;
	u64 pid_tgid = current_pid_tgid(), tid = (u32)pid_tgid;
	struct abi_control *ctl = traced(pid_tgid);

	if (!ctl)
		return 0;

	u64 sp = return_address_at(ctx, meaning);
	struct abi_pending *p = pending_begin(ctl, tid, sp);

	if (!p)
		return 0;

	u32 effect = ABI_SITE_EFFECT(site);

	p->sp = sp;
	p->site = site;
	p->flags = 0;
	p->size_bytes = asked_size(ctx, site, effect);
	p->address = reg_arg(ctx, effect == ABI_EFFECT_ALLOC_OUT ? ABI_SITE_OUT_ARG(site) :
								   ABI_SITE_OLD_ARG(site));
	if (effect != ABI_EFFECT_FREE)
		free_is_over(tid);
	switch (effect) {
	case ABI_EFFECT_REALLOC:
		realloc_begin(ctl, p);
		/* fall through */
	case ABI_EFFECT_ALLOC:
	case ABI_EFFECT_ALLOC_OUT:
		p->flags |= site & ABI_SITE_UNRECORDED || !wanted(p->size_bytes) ?
				    ABI_PENDING_SKIP :
				    ABI_PENDING_WANTS_STACK;
		break;
	case ABI_EFFECT_FREE:
		free_block(ctl, ctx, sp, tid, p->address);
		break;
	case ABI_EFFECT_RESIZE:
		break;
#ifdef MAPPINGS
	default:
		mapping_begin(ctx, p, tid);
#endif
	}
	return 0;
}

/* A free without a return probe. */
ALWAYS_INLINE int free_entered(struct pt_regs *ctx, u64 meaning)
{
	u64 pid_tgid = current_pid_tgid(), tid = (u32)pid_tgid;
	struct abi_control *ctl = traced(pid_tgid);

	if (!ctl)
		return 0;

	u64 sp = return_address_at(ctx, meaning);

	if (!pending_is_inside(ctl, tid, sp))
		free_block(ctl, ctx, sp, tid, reg_arg(ctx, ABI_SITE_OLD_ARG(meaning)));
	return 0;
}

#ifdef HAVE_COOKIE
int on_call(struct pt_regs *ctx)
{
	return call_entered(ctx, bpf_get_attach_cookie(ctx));
}

int on_free(struct pt_regs *ctx)
{
	return free_entered(ctx, bpf_get_attach_cookie(ctx));
}
#endif

/*
 * What a returned call leaves behind: the address of a block to record, or 0. With
 * `restore` set it is an old block: that of a realloc that failed, or a resized one.
 */
ALWAYS_INLINE u64 call_outcome(struct abi_control *ctl, struct abi_pending *p, u64 result,
			       int *restore)
{
	u64 address = result;
	int skip = p->flags & ABI_PENDING_SKIP;

	switch (ABI_SITE_EFFECT(p->site)) {
	case ABI_EFFECT_REALLOC:
		address = realloc_end(ctl, p, result, restore);
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
		if (bpf_probe_read_user(&address, 8, (void *)p->address)) {
			count(ABI_READ_FAILED, 1);
			return 0;
		}
		return address;
	case ABI_EFFECT_RESIZE:
		*restore = 1;
		return resize_end(ctl, p, result);
	default:
		return 0;
	}
}

int on_return(struct pt_regs *ctx)
{
	u64 pid_tgid = current_pid_tgid(), tid = (u32)pid_tgid;
	struct abi_control *ctl = traced(pid_tgid);
	struct abi_pending *p = ctl ? pending_find(ctl, tid) : NULL;

	/* A nested call's return, or one that was entered before the attach. */
	if (!p || p->sp != RETURNED_SP(ctx))
		return 0;

	/* The walk comes first: what it finds does not depend on the outcome, and the
	 * verifier follows it once for each state before it. */
	u32 stack = p->flags & ABI_PENDING_WANTS_STACK ? stack_intern(ctx, ctl) : ABI_NO_STACK;
	u64 result = REG_RESULT(ctx);

#ifdef MAPPINGS
	if (is_mapping(ABI_SITE_EFFECT(p->site))) {
		mapping_end(p, tid, result, stack);
		pending_end(ctl, p, tid);
		return 0;
	}
#endif
	int restore = 0;
	u64 address = call_outcome(ctl, p, result, &restore);

	if (address) {
		u64 old_address = 0;

		if (!restore) {
			/* From here on `old` is the new block. */
			if (p->flags & ABI_PENDING_HAS_OLD)
				old_address = p->address;
			p->flags = 0;
			block_allocated(p, tid, stack);
		}
		live_put(ctl, address, old_address, &p->old);
	}
	pending_end(ctl, p, tid);
	return 0;
}
