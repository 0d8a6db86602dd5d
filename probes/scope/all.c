/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Each process is traced that hits a probe. */

#define TRACES_ALL 1

/* memtrace itself, and its children that read files for it. */
ALWAYS_INLINE int is_memtrace(u64 tgid)
{
	return tgid == run_value(ABI_RUN_OWN_PID) ||
	       parent_tgid() == run_value(ABI_RUN_OWN_PID);
}

/* Give a process that was not traced before a slot, or return NULL. */
ALWAYS_INLINE struct abi_process *process_enters(u64 tgid, u32 *slot)
{
	struct abi_process *p = is_memtrace(tgid) ? NULL : process_claim(tgid, slot);

	if (p)
		bpf_get_current_comm(p->command, sizeof(p->command));
	return p;
}

/* A process that executes a program gets its slot at its first hit. */
#define process_restarts(tgid, slot) ((void)0)
