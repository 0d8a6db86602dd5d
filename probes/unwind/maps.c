/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The maps of unwind rules and of unwind misses, and types for large values (maps.c). */

struct miss_room_bytes {
	char bytes[sizeof(struct abi_miss_room)];
};

BPF_F_TABLE("array", u32, struct abi_rule_bucket, rules, RULE_BUCKETS, BPF_F_MMAPABLE);
BPF_F_TABLE("hash", u64, u64, rule_spill, ENTRIES(ABI_RULE_SPILL), AS_NEEDED);
BPF_F_TABLE("array", u32, struct abi_moves, moves, PROCESS_SLOTS, BPF_F_MMAPABLE);
/* LRU: threads that die in a move leave their entries. */
BPF_F_TABLE("lru_hash", u64, struct abi_mover, movers, ABI_MOVERS, 0);
BPF_F_TABLE("array", u32, struct miss_room_bytes, miss_rooms, CPU_SLOTS *ABI_MISS_ROOMS,
	    0);
/* memtrace makes the rings in `misses`, and replaces them (unwind_miss/miss_ring.h). */
BPF_RINGBUF_OUTPUT(misses_part, 1);
BPF_TABLE("array_of_maps$misses_part", u32, u32, misses, ABI_MISS_RINGS);
BPF_F_TABLE("array", u32, u64, miss_sites, ABI_MISS_SITES, 0);
