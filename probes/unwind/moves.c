/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Probes on the C library's mremap(), which can move code. The kernel does not report
 * such moves. If code moves onto the same amount of other code, even the number of
 * executable pages stays the same (offsets/code_pages.c). While code moves, and until
 * memtrace has looked at the mappings, no unwind rule is used. Moves of anything else,
 * such as growing large blocks, change nothing.
 */

/* MREMAP_FIXED (include/uapi/linux/mman.h): the caller gives the new address. */
#define MOVE_FIXED 2

/* Returns 1 if some unwind rule may be for this part of the process. A size of 0 stands
 * for the whole mapping (mremap(2)); then only its first byte is checked. User addresses
 * are far below 2^63, so the sign of a difference shows the order. With branches the
 * verifier would take milliseconds. */
ALWAYS_INLINE u64 moves_touch(const struct abi_moves *m, u64 start, u64 size)
{
	u64 end = start + size + !size, touches = 0;

#pragma clang loop unroll(disable)
	for (u32 i = 0; i < ABI_CODE_RANGES; i++)
		touches |= (start - m->range[i].end) & (m->range[i].start - end);
	return touches >> 63;
}

/* At the first instruction of mremap(old, old_size, new_size, flags, new). */
int on_move(struct pt_regs *ctx)
{
	u64 thread = bpf_get_current_pid_tgid(), tgid = current_pid_tgid() >> 32;
	struct abi_mover mover = {}, *left;
	struct abi_process *process = tgid ? process_find(tgid, &mover.slot) : NULL;
	struct abi_moves *m = process ? moves.lookup(&mover.slot) : NULL;

	u64 is_fixed = (REG_ARG3(ctx) & MOVE_FIXED) / MOVE_FIXED;

	if (!m) {
		moves_of_untraced(tgid, is_fixed);
		return 0;
	}
	/* The order matters. If memtrace adds a range meanwhile, one of three things
	 * happens: memtrace sees this call in `onto`, this program sees the range, or
	 * `version` differs at the end of the call. */
	__sync_fetch_and_add(&m->onto, is_fixed);
	mover.version = *(volatile u64 *)&m->version;

	u64 touches = moves_touch(m, REG_ARG0(ctx), REG_ARG1(ctx)) |
		      (moves_touch(m, REG_ARG4(ctx), REG_ARG2(ctx)) & is_fixed);

	if (!(touches | is_fixed))
		return 0;
	left = movers.lookup(&thread);

	u32 is_counted = left && left->slot == mover.slot ? left->is_under_way : 0;

	mover.is_under_way = is_counted | touches;
	/* The order matters: a reader that sees the change also sees what was stored
	 * before it. */
	if (!movers.update(&thread, &mover) && touches && !is_counted)
		__sync_fetch_and_add(&m->under_way, 1);
	if (!touches)
		return 0;
	store_release(&m->last_ns, bpf_ktime_get_ns());
	__sync_fetch_and_add(&m->count, 1);
	code_has_changed(process, 1);
	return 0;
}

/* At the end of mremap(), after the system call, whether it succeeded or not. */
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

	/* Otherwise the record belongs to an earlier thread with this id, which died in a
	 * move. */
	if (!process || !m || process->tgid != current_pid_tgid() >> 32)
		return 0;
	if (!mover.is_under_way) {
		/* Counted at the end as well: otherwise memtrace would take what it read
		 * during the call for the current mappings. */
		__sync_fetch_and_add(&m->onto, 1);
		if (*(volatile u64 *)&m->version == mover.version)
			return 0;
		__sync_fetch_and_add(&m->count, 1);
		code_has_changed(process, ABI_CODE_MOVED_SOMEWHEN);
		return 0;
	}
	code_has_changed(process, 1);
	code_pages_settle(process);
	__sync_fetch_and_add(&m->under_way, -1ull);
	return 0;
}
