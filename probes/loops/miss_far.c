/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The pages of a stack beyond the copy of a miss (abi_walk.h). Kernels without may_goto
 * would have to verify the loop over them round by round. */

/* A hash of the far page in `r`, never 0. */
ALWAYS_INLINE u64 miss_far_hash(struct abi_miss_room *r)
{
	u64 hash = r->far.address;

	LOOP(i, 0, ABI_MISS_PAGE_BYTES / 64, &r->words[1])
	{
		u64 *from = r->far.words + (i & (ABI_MISS_PAGE_BYTES / 64 - 1)) * 8;

		barrier_var(from);
#pragma unroll
		for (int k = 0; k < 8; k++) {
			hash = abi_mix(hash ^ from[k]);
			hash ^= hash >> 32;
		}
		hash = ROUND(&r->words[0], hash);
	}
	return launder(&r->words[0], hash | 1);
}

/* Send the far pages of a stack that memtrace does not have. Returns bits for those that
 * it has then, or 0 if much of the ring is full: other walks are worth more. */
ALWAYS_INLINE u64 miss_send_far(void *ring, struct abi_miss_room *r, u64 sp, u64 pages)
{
	u64 base = sp & -(u64)ABI_MISS_PAGE_BYTES, present = 0;

	if (pages <= ABI_MISS_PAGES || bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) * 4 >
					       bpf_ringbuf_query(ring, BPF_RB_RING_SIZE))
		return 0;
	r->far.kind = ABI_MISS_FAR;
	r->far.room = r->walk.room;
	pages = launder(&r->words[2], pages);
	LOOP(i, ABI_MISS_PAGES, ABI_MISS_ALL_PAGES, &r->words[2])
	{
		u64 page = base + i * ABI_MISS_PAGE_BYTES, hash;
		u64 at = launder(&r->words[3], ABI_MISS_FAR_AT(page)) &
			 (ABI_MISS_ALL_PAGES - 1);

		if (i >= pages)
			break;
		if (bpf_probe_read_user(r->far.words, ABI_MISS_PAGE_BYTES, (void *)page))
			continue;
		r->far.address = page;
		hash = miss_far_hash(r);
		if ((r->far_hash[at] ^ hash) | (r->far_process[at] ^ r->walk.process)) {
			r->far_hash[at] = 0;
			if (bpf_ringbuf_output(ring, &r->far, sizeof(r->far), 0))
				break;
			r->far_hash[at] = hash;
			r->far_process[at] = r->walk.process;
		}
		present = ROUND(&r->words[0], present | 1ull << (i & 63));
	}
	return launder(&r->words[3], present);
}
