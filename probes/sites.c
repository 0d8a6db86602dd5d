/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a probe hit means. The helpers that tell it (the attach cookie, the address of the
 * probe) cost as much as all that is done with it: 20 ns a call where returns in the
 * kernel are slowed down against speculation. Where in its page a probe lies tells nearly
 * always as well.
 */

/* The record of sites that lie where this hit does. */
ALWAYS_INLINE struct abi_site_at *site_at(struct pt_regs *ctx)
{
	u32 at = REG_PC(ctx) & (MEMTRACE_PAGE_SIZE - 1);

	return sites_at.lookup(&at);
}

#ifdef HAVE_COOKIE
/* Not every libbcc that we meet declares it (BPF_FUNC_get_attach_cookie, Linux 5.15). */
static u64 (*get_attach_cookie)(void *ctx) = (void *)174;

/* The meaning of the site at whose entry this is. */
ALWAYS_INLINE u64 site_meaning(struct pt_regs *ctx, const struct abi_site_at *s)
{
	u64 meaning = s ? s->meaning : 0;

	return meaning && meaning != ABI_SITE_SEVERAL ? meaning : get_attach_cookie(ctx);
}
#endif

#ifdef HAVE_SESSION
/* Is this the entry of a call, or else its return? A place in the page where no site is
 * tells; else the address, which is asked for once and then known for this process. */
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
