/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Select the allocations to be recorded, and count what a sampled one represents. */

/* Returns 1 if an allocation of this size passes the filter. */
ALWAYS_INLINE int is_in_bounds(u64 size_bytes)
{
	u64 least = MIN_SIZE, most = MAX_SIZE;

	return size_bytes >= least && size_bytes <= most;
}

/* Returns 1 if the allocation is sampled. Each allocation gets a random number: counting
 * to every N-th call would fall into step with the target's pattern. */
ALWAYS_INLINE int is_sampled(u64 size_bytes)
{
	struct abi_sample *sample = sample_of(size_bytes);
	u32 threshold = SAMPLE_THRESHOLD;

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
