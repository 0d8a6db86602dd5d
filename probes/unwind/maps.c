/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The maps of unwind rules and of unwind misses, and types for large values (maps.c). */

struct miss_room_bytes {
	char bytes[sizeof(struct abi_miss_room)];
};
struct layout_bytes {
	u64 words[sizeof(struct abi_layout) / 8];
};
struct unwind_page_bytes {
	u64 words[sizeof(struct abi_unwind_page) / 8];
};

BPF_F_TABLE("array", u32, struct abi_rule_bucket, rules, RULE_BUCKETS, BPF_F_MMAPABLE);
BPF_F_TABLE("hash", u64, u64, rule_spill, ENTRIES(ABI_RULE_SPILL), AS_NEEDED);
BPF_F_TABLE("array", u32, struct abi_moves, moves, PROCESS_SLOTS, BPF_F_MMAPABLE);
/* LRU: threads that die in a move leave their entries. */
BPF_F_TABLE("lru_hash", u64, struct abi_mover, movers, ABI_MOVERS, 0);
#ifdef UNWIND_TABLES
/* Kernels with may_goto allow such hashes in perf event programs, too. */
BPF_F_TABLE("hash", u64, struct layout_bytes, layouts, ENTRIES(LAYOUTS),
	    BPF_F_NO_PREALLOC);
BPF_F_TABLE("hash", u64, struct unwind_page_bytes, unwind_pages, ENTRIES(UNWIND_PAGES),
	    BPF_F_NO_PREALLOC);
BPF_F_TABLE("array", u32, u64, unwind_rules, ABI_UNWIND_RULES, BPF_F_MMAPABLE);
BPF_F_TABLE("array", u32, struct abi_cached_rule, cached_rules, ABI_CACHED_RULES, 0);
#endif
BPF_F_TABLE("array", u32, struct miss_room_bytes, miss_rooms, CPU_SLOTS *ABI_MISS_ROOMS,
	    0);
/* memtrace makes the rings in `misses`, and replaces them (unwind_miss/miss_ring.h). */
BPF_RINGBUF_OUTPUT(misses_part, 1);
BPF_TABLE("array_of_maps$misses_part", u32, u32, misses, ABI_MISS_RINGS);
BPF_F_TABLE("array", u32, u64, miss_sites, ABI_MISS_SITES, 0);
