/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Blocks that a program reports itself, by USDT probes (--otel-memory), in place of
 * hooks.c. The probe of an allocation has all values when it is hit, so no return is
 * needed.
 */

BPF_F_TABLE("array", u32, struct abi_usdt, usdt_args, ABI_MAX_SITES, BPF_F_MMAPABLE);

/* The register at byte `offset` of struct pt_regs; 0 for ABI_USDT_NO_REGISTER. */
ALWAYS_INLINE u64 usdt_register(struct pt_regs *ctx, u8 offset)
{
	u64 value = 0;

	if (offset != ABI_USDT_NO_REGISTER)
		bpf_probe_read_kernel(&value, sizeof(value), (void *)ctx + offset);
	return value;
}

/* Read the value of an argument. Returns 0, counted, if it cannot be read. */
ALWAYS_INLINE int usdt_value(struct pt_regs *ctx, const struct abi_usdt_arg *arg,
			     u64 *ret)
{
	u64 value = arg->value, unused = 64 - arg->size_bytes * 8;

	*ret = 0;
	if (arg->kind == ABI_USDT_NOTHING)
		return 1;
	value += usdt_register(ctx, arg->base) +
		 (usdt_register(ctx, arg->index) << (arg->index_shift & 3));
	if (arg->kind == ABI_USDT_MEMORY) {
		u64 bytes[2] = {};

		if (bpf_probe_read_user(bytes, arg->size_bytes & 15, (void *)value)) {
			count(ABI_READ_FAILED, 1);
			return 0;
		}
		value = bytes[0];
	}
	value <<= unused & 63;
	*ret = arg->is_signed ? (u64)((s64)value >> (unused & 63))
			      : value >> (unused & 63);
	return 1;
}

/*
 * A new block. It is counted with `weight_bytes`: how many allocated bytes this report
 * represents (allocator_otel.h). 0: no weight is given, and its own size is used.
 */
ALWAYS_INLINE void usdt_allocated(const struct tracee *t, struct pt_regs *ctx,
				  u64 meaning, u64 address, u64 size_bytes,
				  u64 weight_bytes)
{
	u64 key = tracee_key(t, address);

	if (!key) {
		count(ABI_FAILURES, 1);
		return;
	}
	free_is_over(t->caller);
	if (!weight_bytes)
		weight_bytes = size_bytes;
	if (!is_in_bounds(size_bytes) || !is_sampled(weight_bytes)) {
		traffic_other_event(t);
		return;
	}

	u32 tid = tracee_begins(t);
	u32 stack = stack_intern(t, ctx, ABI_SITE_ALLOCATOR(meaning), 0, 0);

	block_recorded(t, key, weight_bytes, tid, stack);
}

int on_usdt(struct pt_regs *ctx)
{
	struct tracee t;

	if (!tracee_find(&t, ctx))
		return 0;

	u64 meaning = get_attach_cookie(ctx), address, size_bytes, weight_bytes;
	u32 number = ABI_SITE_NUMBER(meaning);
	const struct abi_usdt *args = usdt_args.lookup(&number);

	if (!args || !usdt_value(ctx, &args->arg[0], &address))
		return 0;
	if (ABI_SITE_EFFECT(meaning) == ABI_EFFECT_FREE_USDT) {
		free_block(&t, ctx, REG_SP(ctx), tracee_key(&t, address));
		return 0;
	}
	if (usdt_value(ctx, &args->arg[1], &size_bytes) &&
	    usdt_value(ctx, &args->arg[2], &weight_bytes))
		usdt_allocated(&t, ctx, meaning, address, size_bytes, weight_bytes);
	return 0;
}
