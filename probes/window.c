/* SPDX-License-Identifier: Apache-2.0 */
/* A walk, and the copy of the stack that it reads: in room that is claimed for it. */

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

/* How a walk ends at a call site without an unwind rule. Only programs with rules can hand
 * such a walk over to the miss handler. */
#ifdef UNWIND_RULES
#define WALK_MISSED 0x100
#else
#define WALK_MISSED ABI_END_UNREADABLE
#endif

struct walk {
	struct unwind_regs regs;
	u64 base; /* address in the target of window[0]; 0: nothing copied yet */
	struct abi_stack_hash h;
	u32 depth, end;
	u64 *window, *words; /* of an abi_scratch */
	struct abi_walk_read *read;
	u64 inside; /* the walk begins inside an allocator's function, whose frame is left
		       out: the rule that leads to the caller; 0: it begins elsewhere */
#ifdef UNWIND_RULES
	/* With `inside`, where the allocator's code has no unwind information: the caller;
	 * pc 0: none. */
	struct unwind_regs left;
	u64 is_blind; /* it has none */
	u64 interrupted;  /* ABI_RULE_INTERRUPTED: regs.pc is no return address */
	u64 bp_counts;    /* abi_walk_start */
	/* Of the process, when the walk began; all ones: they were not all known then. */
	u64 code_changes;
#ifdef UNWIND_TABLES
	u64 layout; /* abi_process.layout then */
#endif
#ifdef EVENTS
	u64 leading; /* frames of the kernel, stored before */
#endif
	volatile struct abi_process *process;
#endif
};

/* Whose stack it is, as of when the code of the process was last looked at. */
ALWAYS_INLINE u64 walk_family(const struct walk *w, const struct tracee *t)
{
#ifdef UNWIND_RULES
	return w->process->family;
#else
	u32 slot = t->slot;
	const struct abi_process *process = processes.lookup(&slot);

	return process ? process->family : 0;
#endif
}

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

		if (s && claim_word(&s->owner, caller))
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
	u64 line = address - WINDOW_BELOW & ~63ull;
	s64 below = line - (address & -(u64)MEMTRACE_PAGE_SIZE);

	opaque(below);

	/* Not in the page before: a goroutine may never have touched it. */
	s64 over = line - (below & below >> 63) - last;

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
