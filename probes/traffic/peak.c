/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The live heap of each call path at the peak of the whole heap (peak_record.h). */

BPF_F_TABLE("array", u32, struct abi_heap_peak, heap_peak, 1, BPF_F_MMAPABLE);
BPF_F_TABLE("array", u32, struct abi_path_peak, path_peaks, ENTRIES(MAX_STACKS),
	    BPF_F_MMAPABLE);

/* The live bytes of the whole heap change. Returns the label of the event; 0: it has
 * none. */
ALWAYS_INLINE u64 heap_changes(u64 bytes)
{
	short_key zero = 0;
	struct abi_heap_peak *heap = heap_peak.lookup(&zero);
	int is_peak = 0;

	if (!heap)
		return 0;

	u64 label = abi_heap_peak_add(heap, bytes, &is_peak);

	if (is_peak)
		heap->ticks = tick_now();
	return label;
}

/* heap_changes() has counted these bytes. */
#define heap_adds(all, bytes, ticks) ((void)0)
#define heap_subtracts(all, bytes)   ((void)0)

/* Add an event, which is of a stack with a number, to the record of its call path. Do
 * this before anything else, so that the label does not stay on the BPF stack. */
ALWAYS_INLINE void path_changes(short_key stack, u64 label, u64 bytes, u64 blocks)
{
	struct abi_path_peak *path = path_peaks.lookup(&stack);

	if (!path || !label || abi_path_peak_add(path, label, bytes, blocks))
		return;

	const struct abi_late event = {.stack = stack,
				       .kind = ABI_LATE_AT_PEAK,
				       .bytes = bytes,
				       .old_bytes = blocks,
				       .label = label};

	late_send(&event);
}
