/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A walk, and the window: the copy of a part of the stack that the walk reads, in an
 * abi_scratch. */

/* A repeated walk knows how far it reads, and copies up to WINDOW_MORE_BYTES at once. */
#define WINDOW_BYTES      2048
#define WINDOW_MORE_BYTES ABI_SCRATCH_BYTES

/* The window has few bytes below an address, where registers are saved, and the rest
 * above it. */
#define WINDOW_BELOW 64

/* A walk usually begins at a return address. With WALK_EXACT (events, USDT probes) the
 * first pc is the instruction itself. It is stored as a return address would be: plus
 * one. */
#ifndef WALK_FIRST
#define WALK_FIRST 0 /* frames that the caller of walk_run() has handled */
#endif
#ifndef WALK_DEPTH
#define WALK_DEPTH STACK_DEPTH
#endif

struct walk {
	struct unwind_regs regs;
	u64 base; /* address of window[0] in the target; 0: nothing copied yet */
	struct abi_stack_hash h;
	u32 depth, end;
	u64 *window, *words; /* of an abi_scratch */
	struct abi_walk_read *read;
	/* Not 0: the walk begins inside an allocator's function, whose frame is left out.
	 * This is the rule that leads to the caller. */
	u64 inside;
	/* The rest is only for walks by rules. With `inside`, if the allocator's code has no unwind information: the registers
	 * of its caller; pc 0: none. */
	struct unwind_regs left;
	u64 is_blind; /* 1: that code has no unwind information */
	u64 interrupted;  /* ABI_RULE_INTERRUPTED if regs.pc is not a return address */
	u64 bp_counts;    /* as in abi_walk_start */
	/* abi_process.code_changes when the walk began; all ones: rules were in doubt. */
	u64 code_changes;
	u64 layout; /* abi_process.layout when the walk began */
	u64 leading; /* frames of the kernel, stored before */
	volatile struct abi_process *process;
};

/* `value` if `difference` is 0, else 0. */
ALWAYS_INLINE u64 unless(u64 difference, u64 value)
{
	u64 either = difference | -difference;

	/* Otherwise the compiler would compare and branch. */
	barrier_var(either);
	return value & ((either >> 63) - 1);
}

/* Index into abi_scratch.words: the key of a map lookup. It is there because the stack of
 * a BPF program has only 512 bytes. */
#define KEY_WORD 3

/* A pointer to the key for a lookup. It serves for keys of 32 and of 64 bits. */
ALWAYS_INLINE void *walk_key(const struct walk *w, u64 key)
{
	*(volatile u64 *)&w->words[KEY_WORD] = key;
	return &w->words[KEY_WORD];
}

/* Claim an abi_scratch. Returns NULL, counted, if all of the processor's are taken. */
ALWAYS_INLINE struct abi_scratch *scratch_claim(u64 caller)
{
	u32 first = (bpf_get_smp_processor_id() & (CPU_SLOTS - 1)) * ABI_SCRATCH_WAYS;

#pragma clang loop unroll(disable)
	for (u32 i = 0; i < ABI_SCRATCH_WAYS; i++) {
		short_key at = first + i;
		struct abi_scratch *s = (struct abi_scratch *)scratch.lookup(&at);

		if (s && claim_word(&s->owner, caller))
			return s;
	}
	count(ABI_SCRATCH_FULL, 1);
	return NULL;
}

/* Copy the stack around and above `address`. Returns 0 if it cannot be read. The window
 * ends at the latest with the page of `end`: reading past the end of the stack costs
 * microseconds. There are few branches, because the verifier would follow too many paths.
 * The base is laundered, because otherwise the verifier would follow each frame for each
 * base. */
ALWAYS_INLINE int walk_read_around(struct walk *w, u64 address, u64 end, u64 bytes)
{
	u64 last = ((end + 8) | (MEMTRACE_PAGE_SIZE - 1)) + 1 - bytes;
	u64 line = address - WINDOW_BELOW & ~63ull;
	s64 below = line - (address & -(u64)MEMTRACE_PAGE_SIZE);

	barrier_var(below);

	/* Do not start in the page below: a goroutine may never have touched it. */
	s64 over = line - (below & below >> 63) - last;

	barrier_var(over);
	/* The lower one of `last` and the cache line below the line of `address`. */
	w->base = launder(&w->words[0], last + (over & over >> 63));

	if (bpf_probe_read_user(w->window, bytes, (void *)w->base)) {
		w->base = launder(&w->words[0], 0);
		return 0;
	}
	return 1;
}

/* True if the window has the two words at `address`. */
ALWAYS_INLINE int walk_has_pair(const struct walk *w, u64 address)
{
	return address - w->base <= WINDOW_BYTES - 16;
}

/* Get two words from the window. The index must not be the value that was compared: the
 * verifier would follow the rest of the program for each of its bounds. */
ALWAYS_INLINE void walk_get_pair(const struct walk *w, u64 address, u64 *first,
				 u64 *second)
{
	u64 base = w->base;

	barrier_var(base);

	u64 at = (address - base) >> 3 & (ABI_SCRATCH_BYTES / 8 - 1);

	*first = w->window[at];
	*second = w->window[at + 1];
}

/* Read the two words at `address`. Returns 0 if they cannot be read. */
ALWAYS_INLINE int walk_read_pair(struct walk *w, u64 address, u64 *first, u64 *second)
{
	if (!walk_has_pair(w, address) &&
	    !walk_read_around(w, address, address, WINDOW_BYTES))
		return 0;
	walk_get_pair(w, address, first, second);
	return 1;
}
