/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks along a thread's stack, in room that is claimed for the walk: by the rules that
 * were learned (abi.h), or in a program without them by frame pointer alone.
 */

#ifdef OFFSET_XOL_VADDR
/* The address that return probes put in place of a return address: the start of the
 * process's xol area (kernel/events/uprobes.c, uprobe_get_trampoline_vaddr()). Offsets
 * are the running kernel's, from BTF. */
ALWAYS_INLINE u64 trampoline_address(void)
{
	u64 task = bpf_get_current_task(), mm = 0, area = 0, address = 0;

	bpf_probe_read_kernel(&mm, 8, (void *)(task + OFFSET_TASK_MM));
	bpf_probe_read_kernel(&area, 8, (void *)(mm + OFFSET_MM_XOL_AREA));
	bpf_probe_read_kernel(&address, 8, (void *)(area + OFFSET_XOL_VADDR));
	return address;
}
#endif

/* A walk that is repeated knows how far it goes, and copies as much as there is room for.
 */
#define WINDOW_BYTES      2048
#define WINDOW_MORE_BYTES ABI_SCRATCH_BYTES

/* More of the window lies above an address than below, where registers are saved. */
#define WINDOW_BELOW 64

/* Walks begin at a return address, but for those of events (event.c): WALK_EXACT, the
 * first pc is the instruction itself. It is stored as if it were a return address, one
 * more. */
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
	struct abi_walk_read *read;
#ifdef UNWIND_RULES
	u64 interrupted;  /* ABI_RULE_INTERRUPTED: regs.pc is no return address */
	u64 code_changes; /* of the process, when the walk began */
#ifdef EVENTS
	u64 leading; /* frames of the kernel, stored before */
#endif
	volatile struct abi_process *process;
#endif
};

/* `value` when there is no difference, else 0. */
ALWAYS_INLINE u64 unless(u64 difference, u64 value)
{
	u64 either = difference | -difference;

	/* Or the compiler would compare and branch. */
	opaque(either);
	return value & ((either >> 63) - 1);
}

/* Claim room for a walk; NULL, and counted, when all of it is taken. */
ALWAYS_INLINE struct abi_scratch *scratch_claim(u64 caller)
{
	u32 first = (bpf_get_smp_processor_id() & (CPU_SLOTS - 1)) * ABI_SCRATCH_WAYS;

#pragma clang loop unroll(disable)
	for (u32 i = 0; i < ABI_SCRATCH_WAYS; i++) {
		u32 at = first + i;
		struct abi_scratch *s = (struct abi_scratch *)scratch.lookup(&at);

		if (s && __sync_val_compare_and_swap(&s->owner, 0, caller) == 0)
			return s;
	}
	count(ABI_SCRATCH_FULL, 1);
	return NULL;
}

/* Copy what lies around `address`, and above it; 0 when that cannot be read. The window
 * ends with the page of `end` at the latest: reading past the end of the stack costs
 * microseconds. Little branches, or the verifier follows too many paths; what the window
 * came to be is forgotten, or it would follow each frame for each. */
ALWAYS_INLINE int walk_read_around(struct walk *w, u64 address, u64 end, u64 bytes)
{
	u64 last = ((end + 8) | (MEMTRACE_PAGE_SIZE - 1)) + 1 - bytes;
	s64 over = (address - WINDOW_BELOW & ~63ull) - last;

	opaque(over);
	/* The lower of `last` and a line below the one that `address` is in. */
	w->base = forget(&w->words[0], last + (over & over >> 63));

	if (bpf_probe_read_user(w->window, bytes, (void *)w->base)) {
		w->base = forget(&w->words[0], 0);
		return 0;
	}
	return 1;
}

/* True when the two words at `address` were copied. */
ALWAYS_INLINE int walk_has_pair(const struct walk *w, u64 address)
{
	return address - w->base <= WINDOW_BYTES - 16;
}

/* These words. The index must not be the number that was compared: the verifier would
 * follow all that comes after for each of its bounds. */
ALWAYS_INLINE void walk_get_pair(const struct walk *w, u64 address, u64 *first,
				 u64 *second)
{
	u64 base = w->base;

	opaque(base);

	u64 at = (address - base) >> 3 & (ABI_SCRATCH_BYTES / 8 - 1);

	*first = w->window[at];
	*second = w->window[at + 1];
}

/* Get the two words at `address`; 0 when they cannot be read. */
ALWAYS_INLINE int walk_read_pair(struct walk *w, u64 address, u64 *first, u64 *second)
{
	if (!walk_has_pair(w, address) &&
	    !walk_read_around(w, address, address, WINDOW_BYTES))
		return 0;
	walk_get_pair(w, address, first, second);
	return 1;
}

#ifndef EVENTS
/* Of abi_scratch.words: how many reads were noted; more than there is room for when the
 * walk depended on anything else. */
#define WALK_NOTED 4

/* Note what a walk read; `first_counts` is all ones when its way depended on the first
 * word too, else 0. */
ALWAYS_INLINE void walk_note(struct walk *w, u64 address, u64 first, u64 second,
			     u64 first_counts)
{
	volatile u64 *noted = &w->words[WALK_NOTED];
	u64 n = *noted;
	struct abi_walk_read *read = &w->read[n & (ABI_WALK_READS - 1)];

	*noted = n + 1;
	read->address = (address & ~7ull) | (first_counts & 1);
	read->first = first & first_counts;
	read->second = second;
}

/* The walk will not be repeated by what it read. */
ALWAYS_INLINE void walk_note_no_more(struct walk *w)
{
	*(volatile u64 *)&w->words[WALK_NOTED] = ABI_WALK_READS + 1;
}

ALWAYS_INLINE void walk_started(const struct walk *w, const struct tracee *t,
				u32 allocator, struct abi_walk_start *ret)
{
	ret->pc = w->regs.pc;
	ret->sp = w->regs.sp;
	ret->bp = w->regs.bp;
	ret->whose = (u64)t->slot << 8 | allocator;
#ifdef UNWIND_RULES
	ret->code_changes = w->code_changes;
#else
	ret->code_changes = 0;
#endif
}

/* Copy what a walk that is repeated reads from `address` on, up to its end if that is not
 * far: below which offset of the window two words are there. */
ALWAYS_INLINE u64 walk_read_again(struct walk *w, const struct abi_scratch *s, u64 address)
{
	u64 end = s->read[s->read_count - 1 & ABI_WALK_READS - 1].address;
	u64 span = end - address + 2 * WINDOW_BELOW, bytes = WINDOW_BYTES;

	if (span >= WINDOW_MORE_BYTES)
		end = address;
	else if (span >= WINDOW_BYTES)
		bytes = WINDOW_MORE_BYTES;
	return walk_read_around(w, address, end, bytes) ? bytes - 15 : 0;
}

/*
 * A walk depends on nothing but the registers that it begins with, the words that it
 * reads and the rules: when all are what they were for the last one here, so is the
 * stack. It takes a few instructions a frame to see that, and programs allocate in loops.
 * The number of the stack, or ABI_NO_STACK.
 */
ALWAYS_INLINE u32 walk_repeats(struct walk *w, struct abi_scratch *s,
			       const struct abi_walk_start *start)
{
	u64 first, second;
	u64 differs = (start->pc ^ s->start.pc) | (start->sp ^ s->start.sp) |
		      (start->bp ^ s->start.bp) | (start->whose ^ s->start.whose) |
		      (start->code_changes ^ s->start.code_changes);

#ifdef UNWIND_RULES
	differs |= w->process->code_known ^ start->code_changes;
#endif

	u64 count = unless(differs, s->read_count), room = 0;

#pragma clang loop unroll(disable)
	for (u32 i = 0; i < ABI_WALK_READS; i++) {
		const struct abi_walk_read *read = &s->read[i];
		u64 address = read->address & ~7ull;

		if (i >= count)
			break;
		if (address - w->base >= room) {
			room = forget(&w->words[6], walk_read_again(w, s, address));
			if (address - w->base >= room) {
				differs = 1;
				break;
			}
		}
		walk_get_pair(w, address, &first, &second);
		differs = ((first ^ read->first) & -(read->address & 1)) |
			  (second ^ read->second);
		if (differs)
			break;
	}
#ifdef UNWIND_RULES
	differs |= w->process->code_changes ^ start->code_changes;
#endif
	/* However far that went: the verifier must not tell. */
	w->base = forget(&w->words[5], w->base);
	return forget(&w->words[6], differs) ? ABI_NO_STACK : s->number;
}

/* The walk that began so came to the stack `number`. */
ALWAYS_INLINE void walk_remember(const struct walk *w, struct abi_scratch *s,
				 const struct abi_walk_start *start, u32 number)
{
	u64 noted = *(volatile u64 *)&w->words[WALK_NOTED];

	/* What could not be read may be readable the next time, and what was not learned
	 * be known: that is counted each time. */
	if (noted >= ABI_WALK_READS || number == ABI_NO_STACK ||
	    w->end == ABI_END_UNREADABLE || w->end == ABI_END_UNLEARNED) {
		s->start.pc = 0;
		return;
	}
	s->start = *start;
	s->number = number;
	s->read_count = noted;
}
#else
#define walk_note(w, address, first, second, first_counts) ((void)0)
#define walk_note_no_more(w)                               ((void)0)
#endif

ALWAYS_INLINE void walk_begin(struct walk *w, const struct tracee *t, struct pt_regs *ctx,
			      struct abi_scratch *s, u32 allocator)
{
	w->window = s->window;
	w->words = s->words;
	w->read = s->read;
	w->regs.pc = REG_PC(ctx);
	w->regs.sp = REG_SP(ctx);
	u64 bp = REG_FP(ctx);

	/* A value, not an address: the compiler must not select where to load from, as a
	 * probe's context cannot be indexed. */
	opaque(bp);
	w->regs.bp = bp;
	w->base = forget(&w->words[0], 0);
	abi_stack_hash_begin(&w->h, t->slot, allocator);
	w->depth = 0;
	w->end = ABI_END_DEPTH;
#ifdef UNWIND_RULES
	w->interrupted = WALK_EXACT ? ABI_RULE_INTERRUPTED : 0;
	w->code_changes = w->process->code_changes;
#endif
}

/* The walk has come to its end: all that it came to be, each of its states would be told
 * apart by in what comes after. */
ALWAYS_INLINE void walk_settle(struct walk *w)
{
	w->end = forget(&w->words[2], w->end);
	w->depth = forget(&w->words[2], w->depth);
	w->regs.pc = forget(&w->words[2], w->regs.pc);
	w->regs.sp = forget(&w->words[2], w->regs.sp);
	w->regs.bp = forget(&w->words[2], w->regs.bp);
#ifdef UNWIND_RULES
	w->interrupted = forget(&w->words[2], w->interrupted);
#endif
}

#ifdef UNWIND_RULES

#ifdef OFFSET_MM_CODE_PAGES
/* Code that came or went without the dynamic linker: by munmap(), mremap(), mprotect() or
 * a linker of the program's own. The number of pages in executable mappings tells of it
 * (mm_struct.exec_vm), unless other code took the place of as much before anybody looked;
 * that memtrace hears from the kernel a little later, and counts. */
ALWAYS_INLINE void code_look(volatile struct abi_process *process)
{
	void *mm = *(void **)(get_current_task_btf() + OFFSET_TASK_MM);
	u64 pages = *(u64 *)(mm + OFFSET_MM_CODE_PAGES);

	if (pages == process->code_pages)
		return;
	/* In this order: who sees the number sees the change. */
	__sync_fetch_and_add((u64 *)&process->code_changes, 1);
	process->code_pages = pages;
}

/* A look takes as long as some frames. A walk that is repeated word for word does not need
 * one each time: while the code is as it was for the last walk it is right, and each tick
 * brings a look. */
#if defined(TICK_JIFFIES) && !defined(EVENTS)
#define LOOKS_AT_TICKS
#endif
#else
#define code_look(process) ((void)0)
#endif

/* Before walk_begin(): whose rules are they, and do they hold? 0: the process has gone.
 */
ALWAYS_INLINE int walk_finds_rules(struct walk *w, const struct tracee *t)
{
	u32 slot = t->slot;

	w->process = processes.lookup(&slot);
	if (!w->process)
		return 0;
#ifdef LOOKS_AT_TICKS
	u64 now = bpf_jiffies64();

	if (w->process->looked_at != now) {
		w->process->looked_at = now;
		code_look(w->process);
	}
#else
	code_look(w->process);
#endif
	return 1;
}

#define WALK_MISSED 0x100 /* an end: there is no rule to go on by */

/* The rule of a key, or UNWIND_NONE. But for one there are no branches: see
 * unwind_step.h. */
ALWAYS_INLINE u64 rule_find(const struct tracee *t, u64 key)
{
	u32 at = abi_rule_at(key, RULE_BUCKETS);
	volatile struct abi_rule_bucket *b = rules.lookup(&at);

	if (!b)
		return UNWIND_NONE;

	/* Most buckets have one. */
	if (b->key[0] == key)
		return b->rule[0];

	u64 rule = unless(b->key[1] ^ key, b->rule[1]) |
		   unless(b->key[2] ^ key, b->rule[2]) |
		   unless(b->key[3] ^ key, b->rule[3]);

	if (!rule && t->ctl->spilled_rules) {
		u64 *spilled = rule_spill.lookup(&key);

		if (spilled)
			rule = *spilled;
	}
	return rule;
}

/* The bp that was saved at `at`; 0, which is no frame record, when it cannot be read. */
ALWAYS_INLINE u64 walk_read_bp(struct walk *w, u64 at)
{
	u64 unused, bp;

	if (!walk_read_pair(w, at - 8, &unused, &bp))
		bp = 0;
	walk_note(w, at - 8, 0, bp, 0);
	return bp;
}

/* Step by a plain rule; 0 at the end of the walk. */
ALWAYS_INLINE int walk_step_plain(struct walk *w, u64 rule)
{
	u64 cfa = unwind_cfa_at(&w->regs, rule), below, return_address;

	/* Another stack, or none: memtrace will see. */
	if (unwind_cfa_fault(&w->regs, cfa)) {
		w->end = WALK_MISSED;
		return 0;
	}
	if (!walk_read_pair(w, cfa - 16, &below, &return_address)) {
		w->end = ABI_END_UNREADABLE;
		return 0;
	}
	walk_note(w, cfa - 16, below, return_address, unwind_bp_beside(rule));
	if (unwind_bp_is_apart(rule))
		below = walk_read_bp(w, cfa + unwind_bp_offset(rule));
	if (!unwind_step_plain(&w->regs, rule, cfa, return_address, below)) {
		w->end = ABI_END_COMPLETE;
		return 0;
	}
	w->interrupted = 0;
	return 1;
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

		u64 frame = i;

		/* Or the compiler would keep a pointer, by which the verifier would tell
		 * all that comes after apart. */
		opaque(frame);
		pcs[frame] = shown;
		abi_stack_hash_step(&w->h, shown);
		w->depth = i + 1;

		u64 key = ABI_RULE_KEY(t->slot, pc, w->interrupted);
		u64 rule = rule_find(t, key);

		if (rule & UNWIND_PLAIN) {
			if (!walk_step_plain(w, rule))
				break;
			continue;
		}

		u64 type = UNWIND_TYPE(rule), cfa = unwind_cfa_at(&w->regs, rule);
		u64 signal = (s64)((type ^ UNWIND_SIGNAL) - 1) >> 63;

		opaque(signal);
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
		u64 guess = (s64)((type ^ UNWIND_FP) - 1) >> 63;

		opaque(guess);
		if (unwind_fp_fault(&w->regs) & guess) {
			w->end = w->regs.bp ? ABI_END_NO_FRAME : ABI_END_COMPLETE;
			break;
		}
		if (unwind_can_step(rule) && unwind_derefs(rule)) {
			u64 unused, word;

			if (!walk_read_pair(w, cfa - 8, &unused, &word)) {
				w->end = ABI_END_UNREADABLE;
				break;
			}
			walk_note(w, cfa - 8, 0, word, 0);
			cfa = unwind_cfa_from(rule, word);
		}
		/* Another stack, or none: memtrace will see. */
		if (unwind_cfa_fault(&w->regs, cfa) & ~signal) {
			w->end = WALK_MISSED;
			break;
		}
		w->regs.bp &= unwind_bp_kept(rule);

		u64 at = (cfa - 16 & ~signal) | ((sp + UNWIND_SIGNAL_SP) & signal);
		u64 first, second;

		if (!walk_read_pair(w, at, &first, &second)) {
			w->end = ABI_END_UNREADABLE;
			break;
		}
		walk_note(w, at, first, second, unwind_bp_beside(rule) | signal);

		u64 saved_bp = first;

		if (unwind_bp_is_apart(rule) | (signal & 1))
			saved_bp = walk_read_bp(
				w, (unwind_bp_at(&w->regs, rule, cfa) & ~signal) |
					   ((sp + UNWIND_SIGNAL_BP) & signal));
		if (!unwind_step_plain(&w->regs, rule | (signal & 0x20), cfa, second,
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

#else

/* No rules, no doubt about them. */
#define walk_check(w, t, ctx, s, allocator) ((void)0)

#if defined(OFFSET_XOL_VADDR) && defined(OFFSET_TASK_UTASK)
#define PUTS_BACK

/* Pending return probes, innermost first, and what they have put in place of return
 * addresses. */
struct put_back {
	u64 trampoline;
	u64 instance; /* the first that no frame was found for; 0: none any more */
};

ALWAYS_INLINE void put_back_begin(struct put_back *b, struct walk *w)
{
	void *task = get_current_task_btf();
	void *utask = *(void **)(task + OFFSET_TASK_UTASK);

	/* A number from here on. */
	b->instance = forget(&w->words[3], *(u64 *)(utask + OFFSET_UTASK_INSTANCES));
	b->trampoline = b->instance ? trampoline_address() : 0;
}

/* Looked at for one frame. */
#define PUT_BACK_STEPS 4

/* The return address that was at `at`; 0 when it is not found. A frame may have several,
 * of which the last has the true one; longjmp leaves some without a frame. */
ALWAYS_INLINE u64 put_back_find(struct put_back *b, u64 at)
{
	u64 found = 0;

#pragma clang loop unroll(disable)
	for (u32 i = 0; i < PUT_BACK_STEPS; i++) {
		u64 instance = b->instance, stack = 0;

		if (!instance)
			break;
		bpf_probe_read_kernel(&stack, 8,
				      (void *)(instance + OFFSET_INSTANCE_STACK));
		if (stack > at)
			break;
		if (stack == at)
			bpf_probe_read_kernel(
				&found, 8, (void *)(instance + OFFSET_INSTANCE_RETURN));
		bpf_probe_read_kernel(&b->instance, 8,
				      (void *)(instance + OFFSET_INSTANCE_NEXT));
	}
	return found == b->trampoline ? 0 : found;
}
#endif

/* Walk to the end. */
ALWAYS_INLINE void walk_run(struct walk *w, const struct tracee *t, u64 *pcs)
{
#ifdef PUTS_BACK
	struct put_back back;

	put_back_begin(&back, w);
#endif
#pragma clang loop unroll(disable)
	for (u32 i = WALK_FIRST; i < WALK_DEPTH; i++) {
		u64 saved_bp, return_address, at = w->regs.bp;
		u64 pc = w->regs.pc + (WALK_EXACT && !i);

		pcs[i] = pc;
		abi_stack_hash_step(&w->h, pc);
		w->depth = i + 1;
		if (!unwind_fp_usable(&w->regs)) {
			/* Also with 0, the end of a chain: code without frame
			 * pointers may hold a 0 there as well. */
			w->end = ABI_END_NO_FRAME;
			break;
		}
		if (!walk_read_pair(w, at, &saved_bp, &return_address)) {
			w->end = ABI_END_UNREADABLE;
			break;
		}
		walk_note(w, at, saved_bp, return_address, ~0ull);
#ifdef PUTS_BACK
		if (return_address && return_address == back.trampoline) {
			walk_note_no_more(w);
			return_address = put_back_find(&back, at + 8);
			if (!return_address) {
				w->end = ABI_END_NO_FRAME;
				break;
			}
		}
#endif
		if (!unwind_step_fp(&w->regs, saved_bp, return_address)) {
			w->end = ABI_END_COMPLETE;
			break;
		}
	}
}

#endif
