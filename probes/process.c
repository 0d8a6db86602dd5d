/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Find the process of a probe hit in the table `processes` (abi.h). */

/* A probe hit of a traced process. */
struct tracee {
	struct abi_control *ctl;
	struct abi_process *process;
	u64 caller; /* ABI_CALLER_KEY() of the thread */
	u32 tid;    /* thread id; 0: not read yet */
	u32 slot;
};

/* Process and thread id in memtrace's own pid namespace. 0: not in that namespace. */
ALWAYS_INLINE u64 current_pid_tgid(void)
{
#ifdef PIDNS_INODE
	struct bpf_pidns_info ns = {};

	if (bpf_get_ns_current_pid_tgid(PIDNS_DEVICE, PIDNS_INODE, &ns, sizeof(ns)))
		return 0;
	return (u64)ns.tgid << 32 | ns.pid;
#else
	return bpf_get_current_pid_tgid();
#endif
}

/* The record of a process, or NULL. */
ALWAYS_INLINE struct abi_process *process_find(u64 tgid, u32 *slot)
{
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < ABI_PROCESS_WAYS; i++) {
		short_key at = abi_process_slot(tgid, i, PROCESS_SLOTS);
		struct abi_process *p = processes.lookup(&at);

		if (p && p->tgid == tgid) {
			*slot = at;
			return p;
		}
	}
	return NULL;
}

/* Take a free slot for a process that has none. Returns NULL if all of its slots are
 * taken. */
ALWAYS_INLINE struct abi_process *process_take_slot(u64 tgid, u32 *slot)
{
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < ABI_PROCESS_WAYS; i++) {
		short_key at = abi_process_slot(tgid, i, PROCESS_SLOTS);
		struct abi_process *p = processes.lookup(&at);

		if (p && p->tgid == 0 && claim_process(&p->tgid, at, tgid)) {
			p->since_ns = bpf_ktime_get_ns();
			p->lender = 0;
			p->code_went = 0;
			p->family = p->parting = ABI_FAMILY(p->since_ns, at);
			*slot = at;
			return p;
		}
	}
	return NULL;
}

#ifdef FOLLOW_FORKS
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
#else
/* The same for runs without on_fork(): an unknown process may be such a child. */
ALWAYS_INLINE struct abi_process *process_of_memory(u64 tgid, u32 *slot)
{
	struct abi_process *p = process_find(tgid, slot);
	u32 lender;

	if (p)
		return p;
	lender = lender_tgid();
	return lender ? process_find(lender, slot) : NULL;
}
#endif

/* memtrace reads the slots when this has changed (abi_control.slots_taken). */
ALWAYS_INLINE void count_slot(void)
{
	struct abi_control *ctl = control_get();

	if (ctl)
		__sync_fetch_and_add(&ctl->slots_taken, 1);
}

/* How often to look for the slot of a process while another thread of it is taking that
 * slot. This takes less than a microsecond, unless the thread is preempted. */
#define PROCESS_LOOKS 16

/*
 * Give a process a slot. Returns NULL, counted, if it gets none. Only one thread of the
 * process may do so at a time: slots become free at any moment, and another thread could
 * find a free slot before the one that the process has got.
 */
ALWAYS_INLINE struct abi_process *process_claim(u64 tgid, u32 *slot)
{
	u64 key = ABI_CLAIM_SLOT_OF(tgid);
	struct abi_process *p = NULL;

	if (claim_key_for(key, tgid)) {
		p = process_find(tgid, slot);
		if (!p) {
			p = process_take_slot(tgid, slot);
			if (p)
				count_slot();
		}
		claim_end(key);
	} else {
#pragma clang loop unroll(disable)
		for (u32 i = 0; !p && i < PROCESS_LOOKS; i++)
			p = process_find(tgid, slot);
	}
	if (!p)
		count(ABI_PROCESSES_FULL, 1);
	return p;
}

/* The control record if the probes are enabled, else NULL. */
ALWAYS_INLINE struct abi_control *control_open(void)
{
	struct abi_control *ctl = control_get();

	return ctl && ctl->enabled ? ctl : NULL;
}

/*
 * Identifies this thread among all live threads, by its kernel stack: the registers are
 * at the top of that stack (task_pt_regs()). This costs nothing. The helper that returns
 * the thread id takes some 20 ns where returns in the kernel are slowed down against
 * speculation. For the verifier the difference of two pointers is a number.
 */
ALWAYS_INLINE u64 caller_key(const void *ctx, const struct abi_control *ctl)
{
	return ABI_CALLER_KEY((u64)ctx - (u64)ctl);
}

#ifdef ALL_PROCESSES
/* memtrace itself, and its children that read files for it. */
ALWAYS_INLINE int is_memtrace(u64 tgid)
{
	return tgid == run_value(ABI_RUN_OWN_PID) ||
	       parent_tgid() == run_value(ABI_RUN_OWN_PID);
}
#endif

/* Fill `t`. Returns 0 if the hit is to be ignored. */
ALWAYS_INLINE int tracee_find(struct tracee *t, struct pt_regs *ctx)
{
	t->ctl = control_open();
	if (!t->ctl)
		return 0;

	u64 pid_tgid = current_pid_tgid(), tgid = pid_tgid >> 32;

	if (!tgid)
		return 0;
	t->tid = (u32)pid_tgid;
	t->caller = caller_key(ctx, t->ctl);
	t->process = process_of_memory(tgid, &t->slot);
#ifdef ALL_PROCESSES
	if (!t->process && !is_memtrace(tgid)) {
		t->process = process_claim(tgid, &t->slot);
		if (t->process)
			bpf_get_current_comm(t->process->command,
					     sizeof(t->process->command));
	}
#endif
	return t->process != NULL;
}

#ifdef ONE_PROCESS
/* The same in a session that traces one process: no other process's hits come here
 * (uprobe_prog_run(), kernel/trace/bpf_trace.c). */
ALWAYS_INLINE int tracee_is_here(struct tracee *t, struct pt_regs *ctx)
{
	t->ctl = control_open();
	if (!t->ctl)
		return 0;
	t->slot = t->ctl->only_slot;
	t->process = processes.lookup(&t->slot);
	t->tid = 0;
	t->caller = caller_key(ctx, t->ctl);
	return t->process && t->process->tgid &&
	       !(t->process->tgid & ABI_PROCESS_RETIRED);
}
#else
#define tracee_is_here tracee_find
#endif

/* The thread id in memtrace's pid namespace. */
ALWAYS_INLINE u32 tracee_tid(const struct tracee *t)
{
	return t->tid ? t->tid : (u32)current_pid_tgid();
}

/* The same for a return. The record of its call has the process and the thread. */
ALWAYS_INLINE int tracee_returns(struct tracee *t, struct pt_regs *ctx)
{
	t->ctl = control_open();
	if (!t->ctl)
		return 0;
	t->caller = caller_key(ctx, t->ctl);
	t->process = NULL;
	return 1;
}

/* The key of a block; 0 for address 0. */
ALWAYS_INLINE u64 tracee_key(const struct tracee *t, u64 address)
{
	return address ? ABI_KEY(t->slot, address) : 0;
}

/* Returns 1 if `address` is in the code of an allocator. */
ALWAYS_INLINE int in_allocator(const struct abi_process *process, u64 address)
{
	/* memtrace has not read the mappings of the process yet: assume that it is. */
	if (!process->has_ranges)
		return 1;
	LOOP_BY (n, 0, ABI_MAX_ALLOCATORS, address) {
		u64 i = n & (ABI_MAX_ALLOCATORS - 1);

		if (address >= process->allocators[i].start &&
		    address < process->allocators[i].end)
			return 1;
	}
	return 0;
}

#ifdef KEEPS_TIDS
/* pending.c: the cached thread id of this thread has become invalid. */
ALWAYS_INLINE void tid_ends(void);
#else
#define tid_ends() ((void)0)
#endif

#ifdef FOLLOW_EXECS
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

/* Is the child to be traced only when it executes a program? `parent`: NULL: it is
 * awaited itself. */
ALWAYS_INLINE int child_awaits_exec(const struct abi_process *parent, int is_shared)
{
	if (!parent)
		return 1;
#ifdef FOLLOW_EXECS_ONLY
	/* What it does in its parent's memory counts for the parent. */
	return !is_shared;
#else
	return 0;
#endif
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
#else
#define exec_is_awaited(tgid)                0
#define child_awaits_exec(parent, is_shared) 0
#define exec_await(tgid)                     ((void)0)
#endif

#ifdef FOLLOW_FORKS
#ifdef UNWIND_TABLES
/* Give the child the parent's layout, and the code ranges that on_move() checks. The
 * child has the same code, and has not run yet. */
ALWAYS_INLINE void layout_inherit(struct abi_process *child, u32 child_slot,
				  const struct abi_process *parent, u32 parent_slot)
{
	const struct abi_moves *from = moves.lookup(&parent_slot);
	struct abi_moves *to = moves.lookup(&child_slot);
	u64 layout = parent->layout;

	if (!from || !to || parent->code_known != parent->code_changes || child->lender)
		return;
	bpf_probe_read_kernel(to->range, sizeof(to->range), from->range);
	child->code_known = child->code_changes;
	child->layout = layout;
}
#else
#define layout_inherit(child, child_slot, parent, parent_slot) ((void)0)
#endif

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
#endif

#ifdef KERNEL
/* kernel.c: a block turned out to be freed. */
ALWAYS_INLINE void kernel_gone(u64 key, const struct abi_block *block);
#else
#define kernel_gone(key, block) ((void)0)
#endif

/* traffic.c: the blocks of the process are freed with it. */
ALWAYS_INLINE void traffic_process_ends(short_key slot);

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
#ifndef ALL_PROCESSES
	struct abi_process *fresh = process_claim(tgid, &slot);

	if (fresh) {
#ifdef ONE_PROCESS
		struct abi_control *ctl = control_get();

		if (ctl)
			ctl->only_slot = slot;
#endif
		fresh->has_ranges = 0;
		bpf_get_current_comm(fresh->command, sizeof(fresh->command));
#ifdef FOLLOW_EXECS
		/* After it has its slot: it must be in one of the two tables. */
		u32 awaited = tgid;

		exec_awaited.delete(&awaited);
#endif
	}
#endif
	process_news(slot);
	return 0;
}

#ifdef UNWIND_RULES
/* The dynamic linker is about to change the list of mapped files, or has done so. */
int on_code_change(struct pt_regs *ctx)
{
	u64 tgid = current_pid_tgid() >> 32;
	u32 slot;
	/* Processes that are not traced have a dynamic linker, too: do not take a slot
	 * here. */
	struct abi_process *process = tgid ? process_find(tgid, &slot) : NULL;

	struct abi_moves *m = process ? moves.lookup(&slot) : NULL;

	if (!m)
		return 0;
	store_release(&m->linker_ns, bpf_ktime_get_ns());
	linker_reports_code(process);
	process_news(slot);
	return 0;
}
#endif
