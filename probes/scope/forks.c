/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Descendants of traced processes are traced, too. */

/*
 * The record of the process that owns the memory. A child of vfork(2) or posix_spawn(3)
 * uses its parent's memory until it executes a program or exits: its blocks are the
 * parent's. on_fork() has set `lender`.
 */
ALWAYS_INLINE struct abi_process *process_of_memory(u64 tgid, u32 *slot)
{
	struct abi_process *p = process_find(tgid, slot);

	return p && p->lender ? process_find(p->lender, slot) : p;
}

/* sched_process_fork (include/trace/events/sched.h), with the parent and the child. The
 * child of a traced process is traced from before its first instruction. */
int on_fork(struct bpf_raw_tracepoint_args *ctx)
{
	u64 tgid = current_pid_tgid() >> 32;
	u32 parent_slot, slot, child_tid = 0, child_tgid = 0;
	/* tgid 0: the process is not in our pid namespace. */
	struct abi_process *parent = tgid ? process_find(tgid, &parent_slot) : NULL;
	int is_shared;

	if (!parent && !(tgid && exec_is_awaited(tgid)))
		return 0;
	bpf_probe_read_kernel(&child_tid, 4, (void *)(ctx->args[1] + OFFSET_TASK_PID));
	bpf_probe_read_kernel(&child_tgid, 4, (void *)(ctx->args[1] + OFFSET_TASK_TGID));
	/* A new thread is not a new process. */
	if (!child_tgid || child_tid != child_tgid)
		return 0;
	is_shared = shares_memory(ctx);
	if (child_awaits_exec(parent, is_shared)) {
		exec_await(child_tgid);
		return 0;
	}

	struct abi_process *child = process_claim(child_tgid, &slot);

	if (!child)
		return 0;
	/* The child of such a child uses the memory of the first lender. */
	if (is_shared)
		child->lender = parent->lender ? parent->lender : tgid;
	/* The child's address space is the parent's, or a copy of it. */
	bpf_probe_read_kernel(child->allocators, sizeof(child->allocators),
			      parent->allocators);
	child->has_ranges = parent->has_ranges;
	family_inherit(child, parent);
	layout_inherit(child, slot, parent, parent_slot);
	bpf_get_current_comm(child->command, sizeof(child->command));
	process_news(slot);
	return 0;
}
