/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The BPF maps, sized by constants that compile/source.c defines, and helpers for all
 * programs. Arrays are mmapable, so that memtrace reads them without a system call for
 * each element (Linux 5.5).
 */
/* Types for large values. libbcc compiles code of its own that reads and writes map
 * values as text, for each element of each array in a value. A string is a single
 * element. */
struct scratch_bytes {
	char bytes[sizeof(struct abi_scratch)];
};
#ifdef UNWIND_RULES
struct miss_room_bytes {
	char bytes[sizeof(struct abi_miss_room)];
};
struct layout_bytes {
	u64 words[sizeof(struct abi_layout) / 8];
};
struct unwind_page_bytes {
	u64 words[sizeof(struct abi_unwind_page) / 8];
};
#endif
struct stack_bytes {
	char bytes[sizeof(struct abi_stack_head)];
};
struct stack_pcs_bytes {
	char bytes[ABI_PCS_BLOCK_BYTES(STACK_DEPTH)];
};

/* Programs that are compiled later in a run use the existing maps (compile/compiler.h).
 * Their own copies of the large maps have one element. */
#ifdef MAPS_ARE_THERE
#define ENTRIES(count) 1
#else
#define ENTRIES(count) (count)
#endif

/*
 * Hashes that allocate their memory as needed. Kernels before 6.1 refuse them to perf
 * event programs, and log a warning with a stack trace if any program uses one
 * (check_map_prog_compatibility(), kernel/bpf/verifier.c).
 */
#if defined(NO_ATOMICS) || defined(EVENTS)
#define AS_NEEDED 0
#else
#define AS_NEEDED BPF_F_NO_PREALLOC
#endif

BPF_F_TABLE("array", u32, struct abi_control, control, 1, BPF_F_MMAPABLE);
BPF_F_TABLE("array", u32, struct abi_process, processes, PROCESS_SLOTS, BPF_F_MMAPABLE);
#if !defined(EVENTS) && !defined(KERNEL)
BPF_F_TABLE("array", u32, struct abi_site_at, sites_at, MEMTRACE_PAGE_SIZE,
	    BPF_F_MMAPABLE);
#endif
BPF_F_TABLE("array", u32, struct abi_counters, counters, CPU_SLOTS, BPF_F_MMAPABLE);
#ifndef KERNEL
/* Slots of processes that fork, execute a program or load a library: wakes memtrace. */
BPF_RINGBUF_OUTPUT(news, 1);
#endif

#ifdef EVENTS
BPF_F_TABLE("array", u32, u64, event_counts, MAX_STACKS + 1, BPF_F_MMAPABLE);
#ifdef MAPPINGS
BPF_F_TABLE("array", u32, u64, heap_ends, PROCESS_SLOTS, BPF_F_MMAPABLE);
#endif
#else
#ifndef NO_ATOMICS
BPF_F_TABLE("array", u32, struct abi_live_bucket, live, ENTRIES(LIVE_BUCKETS),
	    BPF_F_MMAPABLE);
#endif
#ifdef KERNEL
/* Preallocated: otherwise the map's own allocations would be traced here. */
BPF_F_TABLE("hash", u64, struct abi_block, live_spill, ENTRIES(LIVE_SPILL), 0);
BPF_F_TABLE("array", u32, struct abi_kernel_counters, kernel_counters, CPU_SLOTS,
	    BPF_F_MMAPABLE);
#else
BPF_F_TABLE("hash", u64, struct abi_block, live_spill, ENTRIES(LIVE_SPILL), AS_NEEDED);
#endif

#ifdef NO_ATOMICS
BPF_RINGBUF_OUTPUT(journal, ENTRIES(JOURNAL_RING_PAGES));
#else
BPF_F_TABLE("array", u32, struct abi_journal, journal, 2 * ABI_JOURNAL_ENTRIES,
	    BPF_F_MMAPABLE);
#endif

#ifndef KERNEL
#ifndef NO_ATOMICS
BPF_F_TABLE("array", u32, struct abi_pending, pending, ABI_PENDING_SLOTS, BPF_F_MMAPABLE);
#endif
BPF_F_TABLE("hash", u64, struct abi_pending, pending_spill, PENDING_SPILL, AS_NEEDED);
#endif
#endif

#ifdef NO_ATOMICS
BPF_F_TABLE("hash", struct abi_stack_key, u32, stack_numbers, ENTRIES(MAX_STACKS), 0);
BPF_F_TABLE("hash", u32, u32, stack_claims, ENTRIES(MAX_STACKS), 0);
#else
BPF_F_TABLE("array", u32, struct abi_stack_bucket, stack_index, STACK_BUCKETS,
	    BPF_F_MMAPABLE);
#endif
BPF_F_TABLE("array", u32, struct scratch_bytes, scratch, CPU_SLOTS *ABI_SCRATCH_WAYS, 0);
BPF_F_TABLE("array", u32, struct stack_bytes, stacks, ENTRIES(MAX_STACKS),
	    BPF_F_MMAPABLE);
BPF_F_TABLE("array", u32, struct stack_pcs_bytes, stack_pcs, ENTRIES(STACK_PCS_BLOCKS),
	    BPF_F_MMAPABLE);

#ifdef UNWIND_RULES
BPF_F_TABLE("array", u32, struct abi_rule_bucket, rules, RULE_BUCKETS, BPF_F_MMAPABLE);
BPF_F_TABLE("hash", u64, u64, rule_spill, ENTRIES(ABI_RULE_SPILL), AS_NEEDED);
BPF_F_TABLE("array", u32, struct abi_moves, moves, PROCESS_SLOTS, BPF_F_MMAPABLE);
/* LRU: threads that die in a move leave their entries. */
BPF_F_TABLE("lru_hash", u64, struct abi_mover, movers, ABI_MOVERS, 0);
#ifdef ALL_PROCESSES
BPF_F_TABLE("lru_hash", u64, u64, strangers, ABI_STRANGERS, 0);
#endif
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
BPF_RINGBUF_OUTPUT(misses, ENTRIES(MISS_RING_PAGES));
#endif

#ifdef SAMPLE_BYTES
BPF_F_TABLE("array", u32, struct abi_sample, samples, ABI_SAMPLE_CLASSES, BPF_F_MMAPABLE);
#endif

#if !defined(EVENTS) && !defined(KERNEL)
BPF_F_TABLE("array", u32, struct abi_last_free, last_free, ABI_LAST_FREE_SLOTS,
	    BPF_F_MMAPABLE);
#endif

#ifdef CHECKS
BPF_F_TABLE("array", u32, struct abi_check, checks, ABI_MAX_CHECKS, BPF_F_MMAPABLE);
BPF_F_TABLE("lru_hash", struct abi_check_call, struct abi_check_claim, check_claims,
	    ABI_CHECK_CLAIMS, 0);
BPF_F_TABLE("hash", struct abi_check_site, u64, check_retired, ABI_CHECK_RETIRED,
	    AS_NEEDED);
/* Numbers of the checks that memtrace has to look at. */
BPF_RINGBUF_OUTPUT(check_news, 1);
#endif

#ifdef MAPPINGS
BPF_RINGBUF_OUTPUT(events, 256 /* 1 MiB */);
#endif

/* Launder `value` through `at`: the verifier then knows neither its bounds nor on which
 * of many paths it was computed. Otherwise the verifier would distinguish states by them
 * in everything that follows. */
ALWAYS_INLINE u64 launder(u64 *at, u64 value)
{
	volatile u64 *place = at;

	*place = value;
	return *place;
}

/* The same without a place in memory. `word` is a number that the program has read and
 * that the verifier does not know. */
ALWAYS_INLINE u64 launder_by(u64 word, u64 value)
{
	value ^= word;
	barrier_var(value);
	return value ^ word;
}

/* Add to a counter of this processor. Atomic, because a program can be preempted by
 * another one. */
ALWAYS_INLINE void count(enum abi_counter which, u64 n)
{
	u32 cpu = bpf_get_smp_processor_id() & (CPU_SLOTS - 1);
	struct abi_counters *c = counters.lookup(&cpu);

	if (c)
		__sync_fetch_and_add(&c->value[which], n);
}

/* The same for two counters. */
ALWAYS_INLINE void count_both(enum abi_counter one, u64 n, enum abi_counter other, u64 m)
{
	u32 cpu = bpf_get_smp_processor_id() & (CPU_SLOTS - 1);
	struct abi_counters *c = counters.lookup(&cpu);

	if (c) {
		__sync_fetch_and_add(&c->value[one], n);
		__sync_fetch_and_add(&c->value[other], m);
	}
}

/* Wake memtrace, which then reads the kernel's reports about processes. These do not wake
 * it in time while other processes of the machine are busy (process/watch.h). If the ring
 * is full, it has been woken. */
ALWAYS_INLINE void process_news(u64 slot)
{
#ifndef KERNEL
	news.ringbuf_output(&slot, sizeof(slot), 0);
#endif
}

ALWAYS_INLINE struct abi_control *control_get(void)
{
	u32 zero = 0;

	return control.lookup(&zero);
}

ALWAYS_INLINE u64 tick_now(void)
{
#ifdef WITH_TIME
#ifdef TICK_JIFFIES
	return bpf_jiffies64() - run_value(ABI_RUN_START);
#else
	return (bpf_ktime_get_ns() - run_value(ABI_RUN_START)) >> ABI_TICK_SHIFT;
#endif
#else
	return 0;
#endif
}

#ifdef SAMPLE_BYTES
ALWAYS_INLINE struct abi_sample *sample_of(u64 size_bytes)
{
	u32 at = abi_sample_class(size_bytes);

	return samples.lookup(&at);
}
#endif
