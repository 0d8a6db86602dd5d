/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Find out what a probe hit means. The helpers for this (attach cookie, address of the
 * probe) cost as much as the rest of the work: 20 ns a call where returns in the kernel
 * are slowed down against speculation. The offset of the probe in its page is sufficient
 * in nearly all cases.
 */

/* The record of the sites at the page offset of this hit. */
ALWAYS_INLINE struct abi_site_at *site_at(struct pt_regs *ctx)
{
	u32 at = REG_PC(ctx) & (MEMTRACE_PAGE_SIZE - 1);

	return sites_at.lookup(&at);
}

#ifdef HAVE_COOKIE
/* Some versions of libbcc do not declare it (BPF_FUNC_get_attach_cookie, Linux 5.15). */
static u64 (*get_attach_cookie)(void *ctx) = HELPER(174);

/* The meaning of the site that was hit. */
ALWAYS_INLINE u64 site_meaning(struct pt_regs *ctx, const struct abi_site_at *s)
{
	u64 meaning = s ? s->meaning : 0;

	return meaning && meaning != ABI_SITE_SEVERAL ? meaning : get_attach_cookie(ctx);
}
#endif

#ifdef HAVE_SESSION
/* Returns 1 for the entry of a call, 0 for its return. Page offsets without a site are
 * returns. Otherwise the address decides: the helper is called once, and then the address
 * is remembered for this process. */
ALWAYS_INLINE int site_is_entry(struct pt_regs *ctx, const struct tracee *t,
				struct abi_site_at *s)
{
	u64 key = ABI_KEY(t->slot, REG_PC(ctx));

	if (s->entry == key)
		return 1;
	if (REG_PC(ctx) != get_func_ip(ctx))
		return 0;
	s->entry = key;
	return 1;
}
#endif
