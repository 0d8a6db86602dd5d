/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Stacks counted at any event (--event). Each hit of a traced process is counted once: at
 * its stack, or without a stack. If the walk goes to the miss handler, the miss handler
 * counts the hit.
 */

BPF_F_TABLE("array", u32, u64, event_counts, MAX_STACKS + 1, BPF_F_MMAPABLE);

/* Store the kernel's part of the stack in s->walked.pc. Returns its number of frames. */
ALWAYS_INLINE u32 event_kernel_frames(void *ctx, struct abi_scratch *s)
{
	if (!KERNEL_FRAMES)
		return 0;

	s64 bytes = bpf_get_stack(ctx, s->walked.pc, KERNEL_FRAMES * 8, 0);
	u64 frames = bytes > 0 ? (u64)bytes / 8 : 0;

	if (frames > KERNEL_FRAMES)
		frames = KERNEL_FRAMES;
	/* The first one is not a return address. */
	if (frames)
		s->walked.pc[0]++;
	return frames;
}

ALWAYS_INLINE void event_hash_frames(struct walk *w, const struct abi_scratch *s,
				     u32 frames)
{
	if (!KERNEL_FRAMES)
		return;

	/* Otherwise the bounds of `frames` would show where the loop ended, and the
	 * verifier would distinguish all later states by them. */
	u64 known = launder(&w->words[2], frames);

#pragma clang loop unroll(disable)
	for (u32 i = 0; i < KERNEL_FRAMES; i++) {
		u64 end = known;

		/* Hidden from the compiler, which would count down to 0 instead.
		 * Verifiers of older kernels (6.1) do not see where such a loop ends. */
		barrier_var(end);
		if (i >= end)
			break;
		abi_stack_hash_step(&w->h, s->walked.pc[i]);
	}
}

/* At a function's first instruction the caller has no frame record yet: the return
 * address is on top of the stack. */
ALWAYS_INLINE void event_first_frame(struct walk *w, u64 *pcs)
{
	u64 caller = 0;

	if (!WALK_FIRST)
		return;
	pcs[0] = w->regs.pc + 1;
	abi_stack_hash_step(&w->h, pcs[0]);
	w->depth = 1;
	bpf_probe_read_user(&caller, 8, (void *)w->regs.sp);
	w->regs.pc = caller;
	w->regs.sp += 8;
}

/* A thread of the process that never leaves the kernel, such as a worker of io_uring, has
 * no stack in user space. Its stack pointer is 0 (arch/x86/kernel/process.c,
 * copy_thread()). */
ALWAYS_INLINE int event_is_in_kernel(struct pt_regs *regs)
{
	return !REG_SP(regs);
}

ALWAYS_INLINE u32 event_walk(const struct tracee *t, void *ctx, struct pt_regs *regs,
			     struct abi_scratch *s, u32 kind)
{
	u32 frames = event_kernel_frames(ctx, s);
	u64 *pcs = s->walked.pc + frames;
	struct walk w;

	if (!walk_finds_rules(&w, t))
		return ABI_NO_STACK;
	code_look(w.process);
	w.leading = frames;
	w.inside = 0;
	w.is_blind = 0;
	w.left.pc = 0;
	walk_begin(&w, t, regs, s);
	walk_is_of(&w, t, s, kind);
	event_hash_frames(&w, s, frames);
	if (event_is_in_kernel(regs)) {
		w.end = ABI_END_COMPLETE;
	} else {
		event_first_frame(&w, pcs);
		walk_run(&w, t, pcs);
		walk_check(&w, t, regs, s, kind);
		walk_close_gap(&w, pcs, frames);
	}
	walk_settle(&w);
	/* If it cannot be sent, the hit has no stack: the hash is of the whole walk. */
	if (walk_missed(&w))
		return miss_send(t, regs, &w, s, kind);
	w.depth += frames;
	walk_hash_again(&w, s, kind);
	return stack_number(t, &w, s, kind);
}

/* `kind` takes the place of the allocator: it separates stacks of events from stacks of
 * mappings. */
ALWAYS_INLINE u32 event_stack(const struct tracee *t, void *ctx, struct pt_regs *regs,
			      u32 kind)
{
	struct abi_scratch *s = scratch_claim(t->caller);

	if (!s)
		return ABI_NO_STACK;

	u32 number = event_walk(t, ctx, regs, s, kind);

	store_release(&s->owner, 0);
	return number;
}

ALWAYS_INLINE int event_hit(void *ctx)
{
	struct pt_regs regs = {};
	struct tracee t;

	/* Check first: threads of the kernel must not get slots as processes. */
	if (TRACES_ALL && !event_registers(ctx, &regs))
		return 0;
	if (!tracee_find(&t, ctx))
		return 0;
	if (!TRACES_ALL && !event_registers(ctx, &regs))
		return 0;

	u32 stack = event_stack(&t, ctx, &regs, ABI_EVENT_STACKS);

	/* The miss handler counts this hit. */
	if (stack != ABI_NO_STACK && stack & ABI_MISS_STACK_BIT)
		return 0;

	short_key at = ABI_HIT_AT(stack, MAX_STACKS);
	u64 *hits = event_counts.lookup(&at);

	if (hits)
		__sync_fetch_and_add(hits, 1);
	return 0;
}

int on_event(EVENT_CONTEXT *ctx)
{
	return event_hit(ctx);
}
