/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Select the allocations to be recorded, and count what a sampled one represents. */

/* Returns 1 if an allocation of this size passes the filter. The verifier removes a
 * comparison with the smallest or the largest number. */
ALWAYS_INLINE int is_in_bounds(u64 size_bytes)
{
	return size_bytes >= run_value(ABI_RUN_MIN_SIZE) &&
	       size_bytes <= run_value(ABI_RUN_MAX_SIZE);
}

/* Returns 1 if the allocation is sampled. Each allocation gets a random number: counting
 * to every N-th call would fall into step with the target's pattern. */
ALWAYS_INLINE int is_sampled(u64 size_bytes)
{
	struct abi_sample *sample = sample_of(size_bytes);
	u64 threshold = run_value(ABI_RUN_SAMPLE_THRESHOLD);

	if (threshold && bpf_get_prandom_u32() >= threshold)
		return 0;
	if (sample && sample->threshold != ABI_SAMPLE_ALWAYS &&
	    bpf_get_prandom_u32() >= sample->threshold)
		return 0;
	return 1;
}

ALWAYS_INLINE int wanted(u64 size_bytes)
{
	return is_in_bounds(size_bytes) && is_sampled(size_bytes);
}

/* Count the blocks and bytes that a sampled block represents. */
ALWAYS_INLINE void count_estimate(enum abi_counter blocks, enum abi_counter bytes,
				  u64 size_bytes)
{
	struct abi_sample *sample = sample_of(size_bytes);

	if (!sample)
		return;
	count_both(blocks, sample->weight, bytes,
		   size_bytes * sample->weight >> ABI_SAMPLE_WEIGHT_SHIFT);
}
