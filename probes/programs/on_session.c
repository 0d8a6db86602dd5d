/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Entry and return in one program: an entry is a hit at the probe's address, all others
 * are returns of calls that asked for it. */
int on_session(struct pt_regs *ctx)
{
	struct abi_site_at *s = site_at(ctx);

	if (s && s->meaning) {
		struct tracee t;

		if (!tracee_is_here(&t, ctx))
			return 1;
		if (site_is_entry(ctx, &t, s))
			return call_entered(&t, ctx, site_meaning(ctx, s));
	}
	return call_returned(ctx);
}
