/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Events that memtrace counts, because the probes cannot. */

BPF_RINGBUF_OUTPUT(late, ENTRIES(LATE_RING_PAGES));

/* Send an event to memtrace. Without a copy on the BPF stack, which is nearly full. */
ALWAYS_INLINE void late_send(const struct abi_late *event)
{
	struct abi_late *to = late.ringbuf_reserve(sizeof(struct abi_late));

	if (!to) {
		struct abi_traffic_all *all = traffic_all_get();

		if (all)
			__sync_fetch_and_add(&all->late_lost, 1);
		return;
	}
	*to = *event;
	late.ringbuf_submit(to, 0);
}
