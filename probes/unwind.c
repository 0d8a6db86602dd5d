/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks along a thread's stack, in room that is claimed for the walk: by the rules that
 * were learned (abi.h), or in a program without them by frame pointer alone.
 */

#define WINDOW_BYTES ABI_SCRATCH_BYTES

/* More of the window lies above an address than below, where registers are saved. */
#define WINDOW_BELOW 64

/* Walks begin at a return address, but for those of events (event.c): WALK_EXACT, the first
 * pc is the instruction itself. It is stored as if it were a return address, one more. */
#ifndef WALK_EXACT
#define WALK_EXACT 0
#endif
#ifndef WALK_FIRST
#define WALK_FIRST 0 /* frames that the caller of walk_run() has taken */
#endif
#ifndef WALK_DEPTH
#define WALK_DEPTH STACK_DEPTH
#endif

struct walk {
	struct unwind_regs regs;
	u64 base; /* address in the target of window[0]; 0: nothing copied yet */
	struct abi_stack_hash h;
	u32 depth, end;
	u64 *window, *words; /* of an abi_scratch */
#ifdef UNWIND_RULES
	u64 interrupted;  /* ABI_RULE_INTERRUPTED: regs.pc is no return address */
	u64 code_changes; /* of the process, when the walk began */
#ifdef EVENTS
	u64 leading; /* frames of the kernel, stored before */
#endif
	volatile struct abi_process *process;
#endif
};

/* Claim room for a walk; NULL, and counted, when all of it is taken. */
ALWAYS_INLINE struct abi_scratch *scratch_claim(u64 caller)
{
	u32 first = (bpf_get_smp_processor_id() & (CPU_SLOTS - 1)) * ABI_SCRATCH_WAYS;

#pragma clang loop unroll(disable)
	for (u32 i = 0; i < ABI_SCRATCH_WAYS; i++) {
		u32 at = first + i;
		struct abi_scratch *s = scratch.lookup(&at);

		if (s && __sync_val_compare_and_swap(&s->owner, 0, caller) == 0)
			return s;
	}
	count(ABI_SCRATCH_FULL, 1);
	return NULL;
}

/* The same value, of which the verifier knows nothing any more: neither its bounds nor
 * where it came from. It would tell states apart by them, in each frame anew. */
ALWAYS_INLINE u64 walk_forget(struct walk *w, u32 word, u64 value)
{
	volatile u64 *at = &w->words[word];

	*at = value;
	return *at;
}

/* Get the two words at `address`; 0 when they cannot be read. The window ends with the
 * page of the second word at the latest: reading past the end of the stack costs
 * microseconds. Little branches, or the verifier follows too many paths. */
ALWAYS_INLINE int walk_read_pair(struct walk *w, u64 address, u64 *first, u64 *second)
{
	if (address - w->base > WINDOW_BYTES - 16) {
		u64 last = ((address + 8) | (MEMTRACE_PAGE_SIZE - 1)) + 1 - WINDOW_BYTES;
		s64 over = (address - WINDOW_BELOW & ~63ull) - last;

		/* The lower of `last` and a line below the one that `address` is in. */
		w->base = last + (over & over >> 63);
		if (bpf_probe_read_user(w->window, WINDOW_BYTES, (void *)w->base)) {
			w->base = 0;
			return 0;
		}
	}

	u64 at = walk_forget(w, 0, (address - w->base) >> 3) & (WINDOW_BYTES / 8 - 1);

	*first = w->window[at];
	*second = w->window[at + 1];
	return 1;
}

ALWAYS_INLINE void walk_begin(struct walk *w, const struct tracee *t, struct pt_regs *ctx,
			      struct abi_scratch *s, u32 allocator)
{
	w->window = s->window;
	w->words = s->words;
	w->regs.pc = REG_PC(ctx);
	w->regs.sp = REG_SP(ctx);
	u64 bp = REG_FP(ctx);

	/* A value, not an address: the compiler must not select where to load from, as a
	 * probe's context cannot be indexed. */
	__asm__ __volatile__("" : "+r"(bp));
	w->regs.bp = bp;
	w->base = 0;
	abi_stack_hash_begin(&w->h, t->slot, allocator);
	w->depth = 0;
	w->end = ABI_END_DEPTH;
#ifdef UNWIND_RULES
	w->interrupted = WALK_EXACT ? ABI_RULE_INTERRUPTED : 0;
	w->code_changes = w->process->code_changes;
#endif
}

#ifdef UNWIND_RULES

#define WALK_MISSED 0x100 /* an end: there is no rule to go on by */

/* `rule` when two keys do not differ, else 0. */
ALWAYS_INLINE u64 rule_unless(u64 difference, u64 rule)
{
	return rule & (((difference | -difference) >> 63) - 1);
}

/* The rule of a key, or UNWIND_NONE. No branches: see unwind_step.h. */
ALWAYS_INLINE u64 rule_find(const struct tracee *t, u64 key)
{
	u32 at = abi_live_hash(key, RULE_BUCKETS, 0);
	volatile struct abi_rule_bucket *b = rules.lookup(&at);

	if (!b)
		return UNWIND_NONE;

	u64 rule = rule_unless(b->key[0] ^ key, b->rule[0]) |
		   rule_unless(b->key[1] ^ key, b->rule[1]) |
		   rule_unless(b->key[2] ^ key, b->rule[2]) |
		   rule_unless(b->key[3] ^ key, b->rule[3]);

	if (!rule && t->ctl->spilled_rules) {
		u64 *spilled = rule_spill.lookup(&key);

		if (spilled)
			rule = *spilled;
	}
	return rule;
}

/*
 * Walk to the end. A signal trampoline is stepped over by the same reads as any frame,
 * from other places: `signal` is all ones there.
 */
ALWAYS_INLINE void walk_run(struct walk *w, const struct tracee *t, u64 *pcs)
{
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < WALK_DEPTH; i++) {
		u64 pc = w->regs.pc, sp = w->regs.sp;
		u64 shown = WALK_EXACT ? pc + (w->interrupted >> 63) : pc;

		pcs[i] = shown;
		abi_stack_hash_step(&w->h, shown);
		w->depth = i + 1;

		u64 rule = walk_forget(
			w, 1, rule_find(t, ABI_RULE_KEY(t->slot, pc, w->interrupted)));
		u64 type = UNWIND_TYPE(rule);
		u64 signal = (s64)((type ^ UNWIND_SIGNAL) - 1) >> 63;

		if (!((rule & UNWIND_STEP) | (signal & 1))) {
			w->end = type == UNWIND_END ? ABI_END_COMPLETE : WALK_MISSED;
			break;
		}
#ifdef NO_FRAME_POINTERS
		if (type == UNWIND_FP) {
			w->end = ABI_END_NO_FRAME;
			break;
		}
#endif
		if (type == UNWIND_FP && !unwind_fp_usable(&w->regs)) {
			w->end = w->regs.bp ? ABI_END_NO_FRAME : ABI_END_COMPLETE;
			break;
		}

		u64 cfa = unwind_cfa_at(&w->regs, rule), below, word = 0;

		if (unwind_can_step(rule) && unwind_derefs(rule)) {
			if (!walk_read_pair(w, cfa - 8, &below, &word)) {
				w->end = ABI_END_UNREADABLE;
				break;
			}
			cfa = unwind_cfa_from(rule, word);
		}
		/* Another stack, or none: memtrace will see. */
		if (!(unwind_cfa_usable(&w->regs, cfa) | (signal & 1))) {
			w->end = WALK_MISSED;
			break;
		}

		u64 at = (cfa - 16 & ~signal) | ((sp + UNWIND_SIGNAL_SP) & signal);
		u64 bp_at = (unwind_bp_at(&w->regs, rule, cfa) & ~signal) |
			    ((sp + UNWIND_SIGNAL_BP) & signal);
		u64 saved_bp = 0, first, second;
		/* All ones when the saved bp lies apart from the return address. */
		u64 apart = (s64)(((rule & 0x30) ^ 0x20) - 1) >> 63 | signal;

		/* One that cannot be read is 0, which is no frame record. */
		if (apart & 1)
			walk_read_pair(w, bp_at - 8, &below, &saved_bp);
		if (!walk_read_pair(w, at, &first, &second)) {
			w->end = ABI_END_UNREADABLE;
			break;
		}
		saved_bp = (saved_bp & apart) | (first & ~apart);
		if (!unwind_step(&w->regs, rule | (signal & 0x20), cfa, second,
				 saved_bp)) {
			/* A call of address 0 that a signal came of is no end. */
			w->end = signal & 1 ? ABI_END_NO_FRAME : ABI_END_COMPLETE;
			break;
		}
		w->regs.sp = (cfa & ~signal) | (first & signal);
		w->interrupted = signal & ABI_RULE_INTERRUPTED;
	}
}

/* No walk holds by rules that were in doubt when it began, or came to be while it ran:
 * then it is handed over from its first frame on. */
ALWAYS_INLINE void walk_check(struct walk *w, const struct tracee *t, struct pt_regs *ctx,
			      struct abi_scratch *s, u32 allocator)
{
	volatile struct abi_process *p = w->process;

	if (p->code_known == w->code_changes && p->code_changes == w->code_changes)
		return;
	walk_begin(w, t, ctx, s, allocator);
	abi_stack_hash_step(&w->h, w->regs.pc + !!WALK_EXACT);
	w->depth = 1;
	w->end = WALK_MISSED;
}

#ifdef OFFSET_TASK_UTASK
/* The return addresses that pending return probes have replaced, innermost first
 * (include/linux/uprobes.h, struct return_instance). */
ALWAYS_INLINE void miss_add_replacements(struct abi_miss *m)
{
	u64 utask = 0, instance = 0, next = 0;
	u32 i;

	bpf_probe_read_kernel(&utask, 8,
			      (void *)(bpf_get_current_task() + OFFSET_TASK_UTASK));
	if (utask)
		bpf_probe_read_kernel(&instance, 8,
				      (void *)(utask + OFFSET_UTASK_INSTANCES));
#pragma clang loop unroll(disable)
	for (i = 0; i < ABI_MISS_REPLACEMENTS; i++) {
		if (!instance)
			break;
		bpf_probe_read_kernel(&m->replacement[i].at, 8,
				      (void *)(instance + OFFSET_INSTANCE_STACK));
		bpf_probe_read_kernel(&m->replacement[i].return_address, 8,
				      (void *)(instance + OFFSET_INSTANCE_RETURN));
		bpf_probe_read_kernel(&next, 8,
				      (void *)(instance + OFFSET_INSTANCE_NEXT));
		instance = next;
	}
	m->replacement_count = i;
}
#endif

/* Frames up to this far above the first are walked again from there, since all registers
 * are known there only. */
#define MISS_REWALK_BYTES 16384

/* Hand a walk over to memtrace: the number by which it will know it, or ABI_NO_STACK
 * when there is no room. */
ALWAYS_INLINE u32 miss_hand_over(const struct tracee *t, struct pt_regs *ctx,
				 const struct walk *w, struct abi_scratch *s,
				 u32 allocator)
{
	struct abi_miss *m = misses.ringbuf_reserve(sizeof(struct abi_miss));
	u64 rbx = ctx->bx, bp = REG_FP(ctx), r12 = ctx->r12, r13 = ctx->r13,
	    r14 = ctx->r14, r15 = ctx->r15, start = REG_SP(ctx), pc = REG_PC(ctx);

	if (!m) {
		count(ABI_WALKS_LOST, 1);
		return ABI_NO_STACK;
	}
	m->number = __sync_fetch_and_add(&t->ctl->misses, 1);
	m->code_changes = w->code_changes;
	m->process = t->slot;
	m->allocator = allocator;
#ifdef EVENTS
	m->leading = w->leading;
#else
	m->leading = 0;
#endif
	if (w->regs.sp - start <= MISS_REWALK_BYTES) {
		m->depth = 0;
		m->pc = pc;
		m->sp = start;
		m->bp = bp;
		m->is_interrupted = WALK_EXACT;
	} else {
		m->depth = w->depth - 1;
		m->pc = w->regs.pc;
		m->sp = w->regs.sp;
		m->bp = w->regs.bp;
		m->is_interrupted = w->interrupted != 0;
	}
	m->rbx = rbx;
	m->r12 = r12;
	m->r13 = r13;
	m->r14 = r14;
	m->r15 = r15;
	m->replacement_count = 0;
#ifdef OFFSET_TASK_UTASK
	miss_add_replacements(m);
#endif
	bpf_probe_read_kernel(m->walked, sizeof(m->walked), s->pc);
	m->base = m->sp & -(u64)ABI_MISS_PAGE_BYTES;

	u32 present = 0, number = ABI_MISS_STACK(m->number);

	/* Each by itself: a page that was never touched is a hole. */
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < ABI_MISS_PAGES; i++) {
		u64 page = m->base + i * ABI_MISS_PAGE_BYTES;

		if (!bpf_probe_read_user(m->pages[i], ABI_MISS_PAGE_BYTES, (void *)page))
			present |= 1u << i;
	}
	m->present = present;
	misses.ringbuf_submit(m, 0);
	return number;
}

#else

/* Walk to the end. */
ALWAYS_INLINE void walk_run(struct walk *w, const struct tracee *t, u64 *pcs)
{
#pragma clang loop unroll(disable)
	for (u32 i = WALK_FIRST; i < WALK_DEPTH; i++) {
		u64 saved_bp, return_address, pc = w->regs.pc + (WALK_EXACT && !i);

		pcs[i] = pc;
		abi_stack_hash_step(&w->h, pc);
		w->depth = i + 1;
		if (!unwind_fp_usable(&w->regs)) {
			/* Also with 0, the end of a chain: code without frame
			 * pointers may hold a 0 there as well. */
			w->end = ABI_END_NO_FRAME;
			break;
		}
		if (!walk_read_pair(w, w->regs.bp, &saved_bp, &return_address)) {
			w->end = ABI_END_UNREADABLE;
			break;
		}
		if (!unwind_step_fp(&w->regs, saved_bp, return_address)) {
			w->end = ABI_END_COMPLETE;
			break;
		}
	}
}

#endif
