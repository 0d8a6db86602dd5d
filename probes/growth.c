/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Mappings by system call (--growth), as events for memtrace, which keeps track of them
 * (mappings.c). When a system call returns, its arguments are still in the thread's
 * registers.
 */

BPF_F_TABLE("array", u32, u64, heap_ends, PROCESS_SLOTS, BPF_F_MMAPABLE);

/* Numbers from arch/x86/entry/syscalls/syscall_64.tbl. */
#if defined(__TARGET_ARCH_x86)
#define CALL_MMAP   9
#define CALL_MUNMAP 11
#define CALL_BRK    12
#define CALL_MREMAP 25
#endif

/* A result in -4095..-1 is an error (include/linux/err.h). */
#define CALL_FAILED(result) ((result) >= -4095ull)

/* The end of the process's heap, by its slot; 0: not known yet. */
ALWAYS_INLINE u64 *heap_end_of(const struct tracee *t)
{
	short_key slot = t->slot;

	return heap_ends.lookup(&slot);
}

int on_mapping_call(void *ctx)
{
	struct pt_regs regs = {};
	struct tracee t;

	if (!tracee_find(&t, ctx) || !event_registers(ctx, &regs))
		return 0;
	/* The old range is removed at entry: it may be mapped again before the call
	 * returns. */
	if (REG_CALL(&regs) == CALL_MUNMAP)
		mapping_event(&t, ABI_EVENT_UNMAP, REG_CALL_ARG0(&regs),
			      REG_CALL_ARG1(&regs), 0, 0);
	else if (REG_CALL(&regs) == CALL_MREMAP)
		mapping_event(&t, ABI_EVENT_REMAP, REG_CALL_ARG0(&regs),
			      REG_CALL_ARG1(&regs), REG_CALL_ARG3(&regs), 0);
	return 0;
}

int on_mapping_return(void *ctx)
{
	struct pt_regs regs = {};
	struct tracee t;

	if (!tracee_find(&t, ctx) || !event_registers(ctx, &regs))
		return 0;

	u64 call = REG_CALL(&regs), result = REG_RESULT(&regs), start, size;
	u32 kind = ABI_EVENT_MAP;

	start = result;
	size = REG_CALL_ARG1(&regs);
	if (call == CALL_BRK) {
		u64 *end = heap_end_of(&t), before;

		if (!end)
			return 0;
		before = *end;
		*end = result;
		if (!before || before == result)
			return 0;
		start = before < result ? before : result;
		size = before < result ? result - before : before - result;
		if (before > result) {
			mapping_event(&t, ABI_EVENT_UNMAP, start, size, 0, 0);
			mapping_event(&t, ABI_EVENT_DONE, 0, 0, 0, 0);
			return 0;
		}
	} else if (CALL_FAILED(result)) {
		mapping_event(&t, ABI_EVENT_FAILED, 0, 0, 0, 0);
		return 0;
	} else if (call == CALL_MUNMAP) {
		mapping_event(&t, ABI_EVENT_DONE, 0, 0, 0, 0);
		return 0;
	} else if (call == CALL_MREMAP) {
		kind = ABI_EVENT_REMAPPED;
		size = REG_CALL_ARG2(&regs);
	}
	mapping_event(&t, kind, start, size, 0,
		      event_stack(&t, ctx, &regs, ABI_MAPPING_STACKS));
	return 0;
}
