/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
int on_check(struct pt_regs *ctx)
{
	struct tracee t;

	if (!tracee_is_here(&t, ctx))
		return 0;

	u64 meaning = site_meaning(ctx, site_at(ctx));

	if (ABI_SITE_EFFECT(meaning) == ABI_EFFECT_CHECK)
		check_exit(&t, ctx, meaning,
			   reg_word(ctx, ABI_RESULT_PAYLOAD(ABI_RESULT_VALUE0(meaning))));
	return 0;
}
