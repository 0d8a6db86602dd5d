/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* In place of peak.c: only how large the whole heap was at its peak. */

#define heap_changes(bytes)                      0
#define path_changes(stack, label, bytes, blocks) ((void)0)

/* The live bytes of the whole heap change. */
ALWAYS_INLINE void heap_adds(struct abi_traffic_all *all, u64 bytes, u64 ticks)
{
	abi_outstanding_add(COUNTED_OF(all), bytes, abi_peak_when(ticks, 0));
}

ALWAYS_INLINE void heap_subtracts(struct abi_traffic_all *all, u64 bytes)
{
	__sync_fetch_and_add(&COUNTED_OF(all)->live_bytes, -bytes);
}
