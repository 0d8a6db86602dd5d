/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The process and the thread of a probe hit. */

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
	if (!t->process)
		t->process = process_enters(tgid, &t->slot);
	return t->process != NULL;
}

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
