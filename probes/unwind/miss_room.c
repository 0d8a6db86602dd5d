/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The rings through which programs send unwind misses. A program makes its record of a
 * miss in a room, and sends it when it is complete. */

/* The ring for a walk that lacks the rule of the call site `pc`. */
ALWAYS_INLINE u64 miss_ring_of(u64 process, u64 pc)
{
	u64 site = abi_mix(pc ^ process << 48);
	short_key at = site >> 40 & (ABI_MISS_SITES - 1), first = ABI_MISS_RING_FIRST;
	u64 *last = miss_sites.lookup(&at);
	void *ring = misses.lookup(&first);

	if (!last || !ring)
		return ABI_MISS_RING;
	site ^= bpf_ktime_get_ns() >> ABI_MISS_SITES_SHIFT;
	if (*last == site || bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) * 2 >
				     bpf_ringbuf_query(ring, BPF_RB_RING_SIZE))
		return ABI_MISS_RING;
	*last = site;
	return ABI_MISS_RING_FIRST;
}

/* Claim a room of the ring, else one of the other ring. Returns NULL if all rooms of the
 * processor are taken. */
ALWAYS_INLINE struct abi_miss_room *miss_claim(u64 caller, u64 ring)
{
	u32 first = (bpf_get_smp_processor_id() & (CPU_SLOTS - 1)) * ABI_MISS_ROOMS;
	u32 own = ring * (ABI_MISS_ROOMS / 2);

#pragma clang loop unroll(disable)
	for (u32 i = 0; i < ABI_MISS_ROOMS; i++) {
		short_key at = first + (i ^ own);
		struct abi_miss_room *r = (struct abi_miss_room *)miss_rooms.lookup(&at);

		if (!r || !claim_word(&r->owner, caller))
			continue;
		r->walk.room = at;
		return r;
	}
	return NULL;
}
