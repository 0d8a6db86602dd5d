/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Counters of the allocations of the kernel (kernel.c). */

BPF_F_TABLE("array", u32, struct abi_kernel_counters, kernel_counters, CPU_SLOTS,
	    BPF_F_MMAPABLE);

ALWAYS_INLINE void kernel_count(u32 class, u32 which, u64 n, u32 other, u64 m)
{
	short_key cpu = bpf_get_smp_processor_id() & (CPU_SLOTS - 1);
	struct abi_kernel_counters *c = kernel_counters.lookup(&cpu);

	if (!c || class >= ABI_KERNEL_CLASS_COUNT)
		return;
	__sync_fetch_and_add(&c->value[class][which], n);
	if (m)
		__sync_fetch_and_add(&c->value[class][other], m);
}

/* A block turned out to be freed. */
ALWAYS_INLINE void kernel_gone(u64 key, const struct abi_block *block)
{
	kernel_count(ABI_KEY_SLOT(key), ABI_KERNEL_FREES, 1, ABI_KERNEL_FREED_BYTES,
		     block->size_bytes);
}
