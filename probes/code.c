/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Changes of a process's code. */

/* The code of the process has changed in a way that may make unwind rules wrong. */
ALWAYS_INLINE void code_has_changed(volatile struct abi_process *process, u64 how)
{
	__sync_fetch_and_add((u64 *)&process->code_changes, how);
	/* No change if no other process is in the family. */
	process->family = process->parting;
}
