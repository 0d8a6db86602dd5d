/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The meaning of the site where a call begins, on kernels with attach cookies. */
ALWAYS_INLINE u64 call_meaning(struct pt_regs *ctx)
{
	struct abi_site_at *s = site_at(ctx);

	if (s && s->check)
		check_call(s);
	return site_meaning(ctx, s);
}
