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

BPF_F_TABLE("array", u32, struct abi_control, control, 1, BPF_F_MMAPABLE);
BPF_F_TABLE("array", u32, struct abi_process, processes, PROCESS_SLOTS, BPF_F_MMAPABLE);
BPF_F_TABLE("array", u32, struct abi_counters, counters, CPU_SLOTS, BPF_F_MMAPABLE);
/* Slots of processes that fork, execute a program or load a library: wakes memtrace. */
BPF_RINGBUF_OUTPUT(news, 1);

BPF_F_TABLE("array", u32, struct scratch_bytes, scratch, CPU_SLOTS *ABI_SCRATCH_WAYS, 0);
/* The first parts of `stacks` and `stack_pcs`; the others are like them. */
BPF_F_TABLE("array", u32, struct stack_bytes, stacks_part, ENTRIES(STACKS_PART),
	    BPF_F_MMAPABLE);
BPF_F_TABLE("array", u32, struct stack_pcs_bytes, stack_pcs_part,
	    ENTRIES(STACK_PCS_PART), BPF_F_MMAPABLE);
BPF_TABLE("array_of_maps$stacks_part", u32, u32, stacks, STACKS_PARTS);
BPF_TABLE("array_of_maps$stack_pcs_part", u32, u32, stack_pcs, STACK_PCS_PARTS);
/* Wakes memtrace when a table needs more memory. */
BPF_RINGBUF_OUTPUT(room_news, 1);

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
	short_key cpu = bpf_get_smp_processor_id() & (CPU_SLOTS - 1);
	struct abi_counters *c = counters.lookup(&cpu);

	if (c)
		__sync_fetch_and_add(&c->value[which], n);
}

/* The same for two counters. */
ALWAYS_INLINE void count_both(enum abi_counter one, u64 n, enum abi_counter other, u64 m)
{
	short_key cpu = bpf_get_smp_processor_id() & (CPU_SLOTS - 1);
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
	news.ringbuf_output(&slot, sizeof(slot), 0);
}

ALWAYS_INLINE struct abi_control *control_get(void)
{
	short_key zero = 0;

	return control.lookup(&zero);
}

ALWAYS_INLINE u64 tick_now(void)
{
	if (!WITH_TIME)
		return 0;
	if (TICK_JIFFIES)
		return bpf_jiffies64() - run_value(ABI_RUN_START);
	return (bpf_ktime_get_ns() - run_value(ABI_RUN_START)) >> ABI_TICK_SHIFT;
}
