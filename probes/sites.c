/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Find out what a probe hit means. The helpers for this (attach cookie, address of the
 * probe) cost as much as the rest of the work: 20 ns a call where returns in the kernel
 * are slowed down against speculation. The offset of the probe in its page is sufficient
 * in nearly all cases.
 */

BPF_F_TABLE("array", u32, struct abi_site_at, sites_at, MEMTRACE_PAGE_SIZE,
	    BPF_F_MMAPABLE);

/* The record of the sites at the page offset of this hit. */
ALWAYS_INLINE struct abi_site_at *site_at(struct pt_regs *ctx)
{
	short_key at = REG_PC(ctx) & (MEMTRACE_PAGE_SIZE - 1);

	return sites_at.lookup(&at);
}
