/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that mremap() moves. The kernel tells nobody of it, and when it comes onto as much
 * other code even the number of executable pages stays (unwind.c). So there are probes in
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

/* A process that may be traced later moves something to a place that is given. */
#ifdef ALL_PROCESSES
ALWAYS_INLINE void moves_of_stranger(u64 tgid, u64 is_fixed)
{
	if (tgid && is_fixed)
		strangers.update(&tgid, &is_fixed);
}
#else
#define moves_of_stranger(tgid, is_fixed) ((void)0)
#endif

/* mremap(old, old_size, new_size, flags, new) begins, at its first instruction. */
int on_move(struct pt_regs *ctx)
{
	u64 thread = bpf_get_current_pid_tgid(), tgid = current_pid_tgid() >> 32;
	struct abi_mover mover = {}, *left;
	struct abi_process *process = tgid ? process_find(tgid, &mover.slot) : NULL;
	struct abi_moves *m = process ? moves.lookup(&mover.slot) : NULL;

	u64 is_fixed = (REG_ARG3(ctx) & MOVE_FIXED) / MOVE_FIXED;

	if (!m) {
		moves_of_stranger(tgid, is_fixed);
		return 0;
	}
	/* In this order: who adds a range sees this call, or this sees the range, or the
	 * version is another one at its end. */
	__sync_fetch_and_add(&m->onto, is_fixed);
	mover.version = *(volatile u64 *)&m->version;

	u64 touches = moves_touch(m, REG_ARG0(ctx), REG_ARG1(ctx)) |
		      (moves_touch(m, REG_ARG4(ctx), REG_ARG2(ctx)) & is_fixed);

	if (!(touches | is_fixed))
		return 0;
	left = movers.lookup(&thread);

	u32 is_counted = left && left->slot == mover.slot ? left->is_under_way : 0;

	mover.is_under_way = is_counted | touches;
	/* In this order: who sees the change sees what comes before. */
	if (!movers.update(&thread, &mover) && touches && !is_counted)
		__sync_fetch_and_add(&m->under_way, 1);
	if (!touches)
		return 0;
	publish(&m->last_ns, bpf_ktime_get_ns());
	__sync_fetch_and_add(&m->count, 1);
	code_has_changed(process, 1);
	return 0;
}

/* And it is over: after the system call, whatever came of it. */
int on_moved(struct pt_regs *ctx)
{
	u64 thread = bpf_get_current_pid_tgid();
	struct abi_mover *begun = movers.lookup(&thread), mover;

	if (!begun)
		return 0;
	mover = *begun;
	movers.delete(&thread);

	struct abi_process *process = processes.lookup(&mover.slot);
	struct abi_moves *m = moves.lookup(&mover.slot);

	/* Or the thread's number was that of one that died in a move. */
	if (!process || !m || process->tgid != current_pid_tgid() >> 32)
		return 0;
	if (!mover.is_under_way) {
		/* Or what was read meanwhile would be taken for what is there now. */
		__sync_fetch_and_add(&m->onto, 1);
		if (*(volatile u64 *)&m->version == mover.version)
			return 0;
		__sync_fetch_and_add(&m->count, 1);
		code_has_changed(process, ABI_CODE_MOVED_SOMEWHEN);
		return 0;
	}
	code_has_changed(process, 1);
#ifdef OFFSET_MM_CODE_PAGES
	/* Then it is known why there are more or less of them. */
	process->code_pages = code_page_count();
#endif
	__sync_fetch_and_add(&m->under_way, -1ull);
	return 0;
}
