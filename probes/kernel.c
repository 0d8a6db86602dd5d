/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Allocations of the kernel itself (--kernel), from its tracepoints. The programs run in
 * any context, also in interrupts. The kernel skips a program that would run within
 * itself on a processor, and counts it as missed (bpf_prog_info). Nothing here allocates.
 * compile/source.c generates a program for each tracepoint.
 */

/* A number in the context of a program. */
#define KERNEL_WORD(ctx, offset, type) (*(type *)((u64)(ctx) + (offset)))

/* A number of `bytes` bytes behind a pointer. */
ALWAYS_INLINE u64 kernel_behind(u64 pointer, u32 offset, u32 bytes)
{
	u64 value = 0;

	bpf_probe_read_kernel(&value, bytes, (void *)(pointer + offset));
	return value;
}

/* 1 if the return address `pc` is in start..start + bytes, else 0. Without a branch,
 * because the verifier would follow both sides for each range of each frame. */
ALWAYS_INLINE u64 kernel_is_in(u64 pc, u64 start, u64 bytes)
{
	u64 at = pc - 1 - start, outside = at - bytes;

	barrier_var(at);
	barrier_var(outside);
	return (~at & outside) >> 63;
}

/*
 * What a stack contains: functions of the kernel, by the ranges that compile/source.c
 * generates. Without ranges (addresses are hidden) nothing is found.
 */
#define KERNEL_BY_SLAB      1
#define KERNEL_BY_PERCPU    2
#define KERNEL_BY_VMALLOC   4
#define KERNEL_IN_INTERRUPT 8

ALWAYS_INLINE u64 kernel_places(u64 pc)
{
	u64 found = 0;

#define KERNEL_RANGE(place, start, bytes)                                                \
	found |= kernel_is_in(pc, start, bytes) * (place);
	KERNEL_RANGES
#undef KERNEL_RANGE
	return found;
}

/* Returns 1 if a block is not to be counted in `class`, by the places in its stack. */
ALWAYS_INLINE int kernel_is_elsewhere(u32 class, u64 places)
{
	/* Not the process's own: it was only interrupted. */
	if (KERNEL_OF_ONE && places & KERNEL_IN_INTERRUPT)
		return 1;
	/* Pages of a slab are counted as its objects, and so on. */
	if (class == ABI_KERNEL_PAGES)
		return places & (KERNEL_BY_SLAB | KERNEL_BY_PERCPU | KERNEL_BY_VMALLOC);
	/* Other vmalloc addresses map devices, or pages that were allocated elsewhere. */
	if (class == ABI_KERNEL_VMALLOC)
		return !(places & KERNEL_BY_VMALLOC);
	return 0;
}

/* The number of the current stack in `class`. *elsewhere is set if the block is not to be
 * counted; then the stack gets no number. */
ALWAYS_INLINE u32 kernel_stack(struct tracee *t, void *ctx, u32 class, int *elsewhere)
{
	struct abi_scratch *s = scratch_claim(t->caller);
	u32 number = ABI_NO_STACK;
	struct walk w = {};

	if (!s)
		return number;

	s64 bytes = bpf_get_stack(ctx, s->walked.pc, STACK_DEPTH * 8, 0);
	u64 frames = bytes > 0 ? (u64)bytes / 8 : 0, places = 0;

	if (frames > STACK_DEPTH)
		frames = STACK_DEPTH;
	s->walked.family = class;
	abi_stack_hash_begin(&w.h, class, class, run_value(ABI_RUN_STACK_SEED));
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < STACK_DEPTH; i++) {
		if (i >= frames)
			break;

		u64 pc = s->walked.pc[i];

		abi_stack_hash_step(&w.h, pc);
		places |= kernel_places(pc);
	}
	*elsewhere = kernel_is_elsewhere(class, places);
	w.words = s->words;
	s->words[WALK_GAP] = 0;
	w.depth = frames;
	w.end = frames == STACK_DEPTH ? ABI_END_DEPTH
		: frames              ? ABI_END_COMPLETE
				      : ABI_END_UNREADABLE;
	if (!*elsewhere)
		number = stack_number(t, &w, s, class);
	store_release(&s->owner, 0);
	return number;
}

ALWAYS_INLINE int kernel_is_wanted(u64 tgid, u64 size_bytes)
{
	if (tgid == run_value(ABI_RUN_OWN_PID))
		return 0;
	if (KERNEL_OF_ONE && tgid != run_value(ABI_RUN_KERNEL_PID))
		return 0;
	return wanted(size_bytes);
}

/* The tracepoints missed the free of this address: remove its block. */
ALWAYS_INLINE void kernel_remove(struct abi_control *ctl, u64 key)
{
	struct abi_block stale = {};

	if (!live_take(ctl, key, &stale))
		return;
	journal_add(ctl, key, 0, NULL);
	count(ABI_BLOCKS_REPLACED, 1);
	kernel_gone(key, &stale);
}

/* Values that are not addresses: NULL, and the result of kmalloc(0)
 * (include/linux/slab.h, ZERO_SIZE_PTR). An invalid page number has all bits set. */
#define KERNEL_NO_ADDRESS(address) ((address) <= 16 || (address) == ~0ull)

ALWAYS_INLINE int kernel_allocated(void *ctx, u32 class, u64 address, u64 key,
				   u64 size_bytes)
{
	struct abi_control *ctl = control_open();
	struct abi_block block = {.size_bytes = size_bytes};
	struct tracee t = {.ctl = ctl, .caller = 1, .slot = class};
	u64 thread = current_pid_tgid(), ticks = tick_now();
	int elsewhere = 0;

	if (!ctl)
		return 0;
	if (!kernel_is_wanted(thread >> 32, size_bytes)) {
		if (!KERNEL_NO_ADDRESS(address))
			kernel_remove(ctl, key);
		return 0;
	}
	if (KERNEL_NO_ADDRESS(address)) {
		kernel_count(class, ABI_KERNEL_FAILURES, 1, 0, 0);
		return 0;
	}
	block.stack = kernel_stack(&t, ctx, class, &elsewhere);
	if (elsewhere) {
		kernel_remove(ctl, key);
		return 0;
	}
	block.thread = ABI_THREAD((u32)thread, ticks);
	block.tick = ticks;
	if (live_put(ctl, key, 0, &block))
		kernel_count(class, ABI_KERNEL_ALLOCATIONS, 1, ABI_KERNEL_ALLOCATED_BYTES,
			     size_bytes);
	return 0;
}

/* The kernel cannot reuse the address before this program has ended. So the journal is in
 * order although the entry comes after the change of the table. */
ALWAYS_INLINE int kernel_freed(u32 class, u64 address, u64 key)
{
	struct abi_control *ctl = control_open();
	struct abi_block old = {};

	if (!ctl || KERNEL_NO_ADDRESS(address))
		return 0;
	if (live_take(ctl, key, &old)) {
		journal_add(ctl, key, 0, NULL);
		kernel_gone(key, &old);
	} else if (!KERNEL_OF_ONE) {
		/* With one process it is not known which unknown frees would be its
		 * own. */
		kernel_count(class, ABI_KERNEL_FREES_UNKNOWN, 1, 0, 0);
	}
	return 0;
}

/* 48 bits of an address are its key, as in user space: no two addresses in use differ
 * only above them. Per-CPU addresses are multiples of 4, but keys must be multiples of
 * 8. */
#define KERNEL_KEY(class, address)                                                       \
	ABI_KEY(class, (class) == ABI_KERNEL_PERCPU ? (address) << 1                     \
		       : KERNEL_BY_NUMBER && (class) == ABI_KERNEL_PAGES                 \
			       ? (address)*MEMTRACE_PAGE_SIZE                            \
			       : (address))

#define KERNEL_ALLOCATES(name, class, at, size)                                          \
	int name(void *ctx)                                                              \
	{                                                                                \
		u64 address = (at);                                                      \
                                                                                         \
		return kernel_allocated(ctx, class, address, KERNEL_KEY(class, address), \
					size);                                           \
	}

#define KERNEL_FREES(name, class, at)                                                    \
	int name(void *ctx)                                                              \
	{                                                                                \
		u64 address = (at);                                                      \
                                                                                         \
		return kernel_freed(class, address, KERNEL_KEY(class, address));         \
	}
