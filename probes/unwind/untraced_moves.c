/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Moves of code by processes that are traced later. */

BPF_F_TABLE("lru_hash", u64, u64, untraced_movers, ABI_UNTRACED_MOVERS, 0);

/* Note a process that moves a mapping with MREMAP_FIXED before it is traced. */
ALWAYS_INLINE void moves_of_untraced(u64 tgid, u64 is_fixed)
{
	if (tgid && is_fixed)
		untraced_movers.update(&tgid, &is_fixed);
}
