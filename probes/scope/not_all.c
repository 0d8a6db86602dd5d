/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Only processes are traced that memtrace selects, and their descendants. */

#define TRACES_ALL                 0
#define process_enters(tgid, slot) ((struct abi_process *)NULL)

/* A process executes a program: give it a new slot. */
ALWAYS_INLINE void process_restarts(u64 tgid, u32 *slot)
{
	struct abi_process *fresh = process_claim(tgid, slot);

	if (!fresh)
		return;
	only_process_is(*slot);
	fresh->has_ranges = 0;
	bpf_get_current_comm(fresh->command, sizeof(fresh->command));
	/* After it has its slot: it must be in one of the two tables. */
	exec_awaits_no_more(tgid);
}
