/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that mremap() moves. The kernel tells nobody of it, and when it comes onto as much
 * other code even the number of executable pages stays (unwind.c). So there is a probe at
 * the C library's function: while code moves, and until memtrace has looked, no rule is
 * used. Moves of anything else, such as of large blocks that grow, change nothing.
 */

/* MREMAP_FIXED (include/uapi/linux/mman.h): its place is given. */
#define MOVE_FIXED 2

/* Does any rule lie in this part of the process? Of a size of 0, which stands for all
 * that there is (mremap(2)), the beginning has to do. Addresses are far from the ends of
 * what a word holds, so that signs tell; with branches the verifier would take
 * milliseconds. */
ALWAYS_INLINE u64 moves_touch(const struct abi_moves *m, u64 start, u64 size)
{
	u64 end = start + size + !size, touches = 0;

#pragma clang loop unroll(disable)
	for (u32 i = 0; i < ABI_CODE_RANGES; i++)
		touches |= (start - m->range[i].end) & (m->range[i].start - end);
	return touches >> 63;
}

/* The record of the process that calls it, or NULL. */
ALWAYS_INLINE struct abi_moves *moves_of_caller(struct abi_process **process, u32 *slot)
{
	u64 tgid = current_pid_tgid() >> 32;
	struct abi_moves *m;

	*process = tgid ? process_find(tgid, slot) : NULL;
	m = *process ? moves.lookup(slot) : NULL;
	/* Before the ranges are looked at: who adds one sees this, or is seen. */
	if (m)
		__sync_fetch_and_add(&m->calls, 1);
	return m;
}

/* mremap(old, old_size, new_size, flags, new) begins, at its first instruction. */
int on_move(struct pt_regs *ctx)
{
	u64 thread = bpf_get_current_pid_tgid();
	u32 slot;
	struct abi_process *process;
	struct abi_moves *m = moves_of_caller(&process, &slot);

	if (!m)
		return 0;

	u64 is_fixed = (REG_ARG3(ctx) & MOVE_FIXED) / MOVE_FIXED;

	if (!(moves_touch(m, REG_ARG0(ctx), REG_ARG1(ctx)) |
	      (moves_touch(m, REG_ARG4(ctx), REG_ARG2(ctx)) & is_fixed)))
		return 0;
	/* In this order: who sees the change sees what comes before. */
	if (!movers.lookup(&thread) && !movers.update(&thread, &slot))
		__sync_fetch_and_add(&m->under_way, 1);
	publish(&m->last_ns, bpf_ktime_get_ns());
	__sync_fetch_and_add(&m->count, 1);
	__sync_fetch_and_add(&process->code_changes, 1);
	return 0;
}

/* And it is over. */
int on_moved(struct pt_regs *ctx)
{
	u64 thread = bpf_get_current_pid_tgid();
	u32 slot;
	struct abi_process *process;
	struct abi_moves *m = moves_of_caller(&process, &slot);
	u32 *begun = movers.lookup(&thread);
	int is_awaited = begun && m && *begun == slot;

	if (!begun)
		return 0;
	movers.delete(&thread);
	/* Or the thread's number was that of one that died in a move. */
	if (!is_awaited)
		return 0;
	__sync_fetch_and_add(&process->code_changes, 1);
#ifdef OFFSET_MM_CODE_PAGES
	/* Then it is known why there are more or less of them. */
	void *mm = kernel_pointer(current_task(), OFFSET_TASK_MM);

	process->code_pages = kernel_number(mm, OFFSET_MM_CODE_PAGES);
#endif
	__sync_fetch_and_add(&m->under_way, -1ull);
	return 0;
}
