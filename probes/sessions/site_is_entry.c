/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* One probe for entry and return (Linux 6.13): which of them was hit. */

/* Some versions of libbcc do not declare it (BPF_FUNC_get_func_ip, Linux 5.15). */
static u64 (*get_func_ip)(void *ctx) = HELPER(173);

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
