/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Processes that are not traced themselves, but whose descendants are, from their exec on
 * (--follow-exec-of). Key: tgid. */
BPF_F_TABLE("hash", u32, u32, exec_awaited, ENTRIES(PROCESS_SLOTS), 0);

/* enum abi_exec_awaited; 0: it is not in the table. */
ALWAYS_INLINE u32 exec_is_awaited(u32 tgid)
{
	const u32 *how = exec_awaited.lookup(&tgid);

	return how ? *how : 0;
}

ALWAYS_INLINE void exec_await(u32 tgid)
{
	u32 how = ABI_AWAITED_ANY;

	if (exec_awaited.update(&tgid, &how))
		count(ABI_PROCESSES_FULL, 1);
}

ALWAYS_INLINE void exec_awaits_no_more(u64 tgid)
{
	u32 awaited = tgid;

	exec_awaited.delete(&awaited);
}

/* Is the child to be traced only when it executes a program? `parent`: NULL: it is
 * awaited itself. */
ALWAYS_INLINE int child_awaits_exec(const struct abi_process *parent, int is_shared)
{
	if (!parent)
		return 1;
	/* What it does in its parent's memory counts for the parent. */
	return FOLLOW_EXECS_ONLY && !is_shared;
}

/* sched_process_exit: a thread ends, and maybe its process. */
int on_process_end(struct bpf_raw_tracepoint_args *ctx)
{
	u32 tgid = current_pid_tgid() >> 32, live = 1;
	void *signal = kernel_pointer(current_task(), OFFSET_TASK_SIGNAL);

	/* The kernel has subtracted this thread (do_exit(), kernel/exit.c). */
	if (signal)
		bpf_probe_read_kernel(&live, sizeof(live), signal + OFFSET_SIGNAL_LIVE);
	if (!live)
		exec_awaited.delete(&tgid);
	return 0;
}
