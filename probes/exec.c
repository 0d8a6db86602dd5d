/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* sched_process_exec: the process has a new address space, and no other threads. */
int on_exec(struct bpf_raw_tracepoint_args *ctx)
{
	u64 tgid = current_pid_tgid() >> 32;
	u32 slot = 0;
	struct abi_process *old = tgid ? process_find(tgid, &slot) : NULL;

	/* The thread now has the id of the process, whatever its id was before. */
	tid_ends();
	if (old) {
		/* Before the slot is retired: memtrace does the same for retired
		 * slots. */
		traffic_process_ends(slot);
		old->tgid = tgid | ABI_PROCESS_RETIRED;
	} else if (exec_is_awaited(tgid) != ABI_AWAITED_ANY) {
		return 0;
	}
	process_restarts(tgid, &slot);
	process_news(slot);
	return 0;
}
