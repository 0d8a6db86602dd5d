/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Estimates beside the counts, where blocks are sampled by bytes. */

BPF_F_TABLE("array", u32, struct abi_flow, traffic_estimates, ENTRIES(MAX_STACKS),
	    BPF_F_MMAPABLE);

/* Which of the two has a peak. */
#define COUNTED(plain, estimated) (estimated)
#define COUNTED_OF(all)           (&(all)->estimated)

/* The estimates of a call path, or NULL. */
ALWAYS_INLINE struct abi_flow *estimated_flow(short_key stack)
{
	return traffic_estimates.lookup(&stack);
}

/* Add to the live bytes that heap_adds() does not count. */
ALWAYS_INLINE void estimated_add(struct abi_traffic_all *all,
				 struct abi_process_live *own, u64 bytes,
				 u64 estimated_bytes, u64 ticks)
{
	abi_outstanding_add(&all->traced, bytes, abi_peak_when(ticks, 0));
	__sync_fetch_and_add(&own->estimated_bytes, estimated_bytes);
}

ALWAYS_INLINE void estimated_sub(struct abi_traffic_all *all,
				 struct abi_process_live *own, u64 bytes,
				 u64 estimated_bytes)
{
	__sync_fetch_and_add(&all->traced.live_bytes, -bytes);
	__sync_fetch_and_add(&own->estimated_bytes, -estimated_bytes);
}
