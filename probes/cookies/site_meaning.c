/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The meaning of a site on kernels with attach cookies. Others have a program for each
 * meaning. */

/* Some versions of libbcc do not declare it (BPF_FUNC_get_attach_cookie, Linux 5.15). */
static u64 (*get_attach_cookie)(void *ctx) = HELPER(174);

/* The meaning of the site that was hit. */
ALWAYS_INLINE u64 site_meaning(struct pt_regs *ctx, const struct abi_site_at *s)
{
	u64 meaning = s ? s->meaning : 0;

	return meaning && meaning != ABI_SITE_SEVERAL ? meaning : get_attach_cookie(ctx);
}
