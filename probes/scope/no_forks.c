/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Descendants of traced processes are not traced. */

/*
 * The record of the process that owns the memory. An unknown process may be a child of
 * vfork(2) or posix_spawn(3), which uses its parent's memory.
 */
ALWAYS_INLINE struct abi_process *process_of_memory(u64 tgid, u32 *slot)
{
	struct abi_process *p = process_find(tgid, slot);
	u32 lender;

	if (p)
		return p;
	lender = lender_tgid();
	return lender ? process_find(lender, slot) : NULL;
}
