/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Counts of allocations and frees for each call path and each thread, and functions that
 * add one event to them. Pure functions, compiled into the probes and into memtrace. The
 * counts are exact however many processors add to a record at the same time.
 */
#ifndef PROBES_TRAFFIC_RECORD_H
#define PROBES_TRAFFIC_RECORD_H

/* Live bytes, and their peak. */
struct abi_outstanding {
	uint64_t live_bytes;
	uint64_t peak_bytes;
	uint64_t peak_when; /* abi_peak_when() */
};

/* The time of a peak in units of 16 ticks. At 1,000 ticks a second 32 bits last for two
 * years. */
#define ABI_PEAK_TICK_SHIFT  4
#define ABI_PEAK_TICKS(when) ((when) >> 32 << ABI_PEAK_TICK_SHIFT)

/*
 * Allocations and frees. Blocks are counted in whole blocks. In estimates from sampling
 * by bytes, they are counted in 1/65536 blocks, by the weight of each sampled block
 * (abi.h).
 */
struct abi_flow {
	uint64_t allocations, allocated_bytes;
	uint64_t frees, freed_bytes;
	uint64_t temporary;
	struct abi_outstanding outstanding;
};
_Static_assert(sizeof(struct abi_flow) == 64, "one cache line");

/* Buckets by power of two: bucket 0 counts 0, bucket i counts 2^(i-1) to 2^i - 1. */
#define ABI_SIZE_BUCKETS 65
/* Powers of two: the probes mask an index instead of branching on it. */
#define ABI_LIFETIME_BUCKETS 32 /* milliseconds; the last one counts all longer ones */
#define ABI_PATH_SIZES       32 /* bytes, at one call path; likewise */

/* 1 if `x` is not 0, without a branch: the verifier would follow both sides of each. */
static inline uint64_t abi_is_set(uint64_t x)
{
	uint64_t negative = x | -x;

	__asm__ __volatile__("" : "+r"(negative));
	return negative >> 63;
}

static inline uint32_t abi_bucket(uint64_t n)
{
	uint64_t bucket = abi_is_set(n);

#pragma GCC unroll 6
	for (uint32_t step = 32; step; step /= 2) {
		uint64_t more = abi_is_set(n >> step) * step;

		n >>= more;
		bucket += more;
	}
	return (uint32_t)bucket;
}

/* The bucket of a block that was freed `age_ticks` after its allocation. */
static inline uint32_t abi_lifetime_bucket(uint64_t age_ticks, uint64_t tick_ns)
{
	uint32_t bucket = abi_bucket(age_ticks * tick_ns / 1000000);

	return bucket < ABI_LIFETIME_BUCKETS ? bucket : ABI_LIFETIME_BUCKETS - 1;
}

/* A call path: an element of `traffic`. */
struct abi_traffic {
	struct abi_flow flow;
	uint64_t lifetime[ABI_LIFETIME_BUCKETS];
	uint64_t size[ABI_PATH_SIZES]; /* sizes of blocks at allocation */
};
_Static_assert(sizeof(struct abi_traffic) == 576, "whole cache lines");

/* The index in abi_traffic.size of a bucket of all sizes. */
static inline uint32_t abi_path_size(uint32_t bucket)
{
	return bucket < ABI_PATH_SIZES ? bucket : ABI_PATH_SIZES - 1;
}

#if defined(__clang__)
#define TRAFFIC_NO_UNROLL _Pragma("clang loop unroll(disable)")
#else
#define TRAFFIC_NO_UNROLL
#endif

#define TRAFFIC_READ(lvalue) (*(volatile uint64_t *)&(lvalue))

/* Add `n` and return the sum. */
#ifndef TRAFFIC_ADD
#define TRAFFIC_ADD(lvalue, n) (__sync_fetch_and_add(&(lvalue), (n)) + (n))

/* Attempts to raise a peak. An attempt fails only if another processor succeeds within
 * nanoseconds. The verifier follows each attempt. */
#define TRAFFIC_PEAK_TRIES 8

/*
 * `live` bytes were live at `when`. If several processors raise the peak at the same
 * time, the highest value wins. The winner then sets peak_when, unless another processor
 * has won meanwhile. Each processor replaces only the peak_when that it found before it
 * raised the peak, or that it finds while the peak is its own.
 */
static inline void abi_raise_peak(struct abi_outstanding *o, uint64_t live, uint64_t when)
{
	int is_ours = 0;

	TRAFFIC_NO_UNROLL
	for (int i = 0; i < TRAFFIC_PEAK_TRIES; i++) {
		uint64_t before = TRAFFIC_READ(o->peak_when);
		uint64_t peak = TRAFFIC_READ(o->peak_bytes);

		if (is_ours && peak != live)
			return;
		if (!is_ours) {
			/* Signed: a free can be counted before its allocation. */
			if ((int64_t)live <= (int64_t)peak)
				return;
			if (__sync_val_compare_and_swap(&o->peak_bytes, peak, live) !=
			    peak)
				continue;
			is_ours = 1;
		}
		if (__sync_val_compare_and_swap(&o->peak_when, before, when) == before)
			return;
	}
}
#endif

static inline void abi_outstanding_add(struct abi_outstanding *o, uint64_t bytes,
				       uint64_t when)
{
	abi_raise_peak(o, TRAFFIC_ADD(o->live_bytes, bytes), when);
}

/* The value of peak_when: the time, and the number of blocks that were live. */
static inline uint64_t abi_peak_when(uint64_t ticks, uint64_t blocks)
{
	return ticks >> ABI_PEAK_TICK_SHIFT << 32 |
	       (blocks < 0xffffffffu ? blocks : 0xffffffffu);
}

/* `blocks_shift` is 16 if `blocks` is in units of 1/65536, else 0. */
static inline void abi_flow_allocated(struct abi_flow *f, uint64_t blocks, uint64_t bytes,
				      uint64_t ticks, int blocks_shift)
{
	uint64_t live = TRAFFIC_ADD(f->outstanding.live_bytes, bytes);
	uint64_t count = TRAFFIC_ADD(f->allocations, blocks) - TRAFFIC_READ(f->frees);

	__sync_fetch_and_add(&f->allocated_bytes, bytes);
	abi_raise_peak(&f->outstanding, live,
		       abi_peak_when(ticks, count >> blocks_shift));
}

static inline void abi_flow_freed(struct abi_flow *f, uint64_t blocks, uint64_t bytes,
				  int is_temporary)
{
	__sync_fetch_and_add(&f->outstanding.live_bytes, -bytes);
	__sync_fetch_and_add(&f->frees, blocks);
	__sync_fetch_and_add(&f->freed_bytes, bytes);
	if (is_temporary)
		__sync_fetch_and_add(&f->temporary, blocks);
}

/* A block changed its size in place. It is still the same block: growth counts as
 * allocated bytes, shrinkage as freed bytes. With sampling by bytes `more_blocks` is the
 * change of its weight, which may be negative. */
static inline void abi_flow_resized(struct abi_flow *f, uint64_t more_blocks,
				    uint64_t old_bytes, uint64_t new_bytes,
				    uint64_t ticks, int blocks_shift)
{
	uint64_t more = new_bytes - old_bytes;
	uint64_t live = TRAFFIC_ADD(f->outstanding.live_bytes, more);
	uint64_t count =
		TRAFFIC_ADD(f->allocations, more_blocks) - TRAFFIC_READ(f->frees);

	if (new_bytes < old_bytes) {
		__sync_fetch_and_add(&f->freed_bytes, old_bytes - new_bytes);
		return;
	}
	__sync_fetch_and_add(&f->allocated_bytes, more);
	abi_raise_peak(&f->outstanding, live,
		       abi_peak_when(ticks, count >> blocks_shift));
}

/*
 * A thread, in an open-addressing table. Its record is one of ABI_THREAD_WAYS consecutive
 * ones; abi_live_hash() of its key gives the first. The record is followed by a ring of
 * the thread's last heap events (`recent`): the key of the allocated block, or 0 for
 * other events.
 */
#define ABI_THREAD_WAYS 16

struct abi_thread {
	uint64_t key; /* ABI_THREAD_KEY(); 0: free */
	uint64_t next_recent;
	uint64_t allocations, allocated_bytes;
	/* frees by this thread, of its own and of others' blocks */
	uint64_t frees, freed_bytes;
	uint64_t freed_by_others, freed_by_others_bytes;
	uint64_t freed_own, freed_own_bytes;
	char name[16]; /* as last read */
};
_Static_assert(sizeof(struct abi_thread) == 96, "no holes");

#define ABI_THREAD_KEY(slot, tid)    ((uint64_t)(slot) << 32 | (uint32_t)(tid))
#define ABI_THREAD_SLOT(key)         ((uint32_t)((key) >> 32))
#define ABI_THREAD_TID(key)          ((uint32_t)(key))
#define ABI_THREAD_AT(key, i, slots) ((abi_live_hash(key, slots, 0) + (i)) & ((slots)-1))

/* The only element of `traffic_all`. */
struct abi_traffic_all {
	uint64_t tick_ns;      /* length of a tick, ns; written by memtrace */
	uint64_t threads_full; /* events of threads that found no room in `threads` */
	uint64_t late_lost;    /* events that found no room in `late` */
	struct abi_outstanding traced, estimated; /* of all heap blocks */
};

/* Live bytes of a process: an element of `process_live`. When the process ends, its total
 * is subtracted at once, before its blocks are removed from the tables. */
struct abi_process_live {
	uint64_t bytes, estimated_bytes;
	/* With WITH_PEAK, once the process has ended: the label of its end
	 * (peak_record.h), which all its blocks get; else 0. */
	uint64_t end_label;
};

/* Numbers of allocations by size, one record for each processor. */
struct abi_sizes {
	uint64_t count[ABI_SIZE_BUCKETS];
};

/*
 * An event of a block whose stack has no number yet (ABI_MISS_STACK). memtrace counts the
 * event when the stack has a number. With WITH_PEAK also an event that the probe could
 * not add to the record of its call path, because another one was changing it.
 */
#define ABI_LATE_NUMBERS 65536

/* An element of `late_numbers`, indexed by the low bits of the ABI_MISS_STACK: the number
 * of the stack, once memtrace has counted the allocation. From then on the probes count
 * the block's events. */
#define ABI_LATE_NUMBER(stack, number) ((uint64_t)(stack) << 32 | (uint32_t)(number))
#define ABI_LATE_NUMBER_STACK(element) ((uint32_t)((element) >> 32))

enum abi_late_kind {
	ABI_LATE_ALLOCATED = 1,
	ABI_LATE_FREED,   /* uses is_temporary and lifetime, too */
	ABI_LATE_GONE,    /* without a lifetime: no free was seen */
	ABI_LATE_RESIZED, /* from old_bytes to bytes */
	/* Counted, but not in the record of peak_record.h, which changes by `bytes` and
	 * by `old_bytes` blocks. */
	ABI_LATE_AT_PEAK,
};

struct abi_late {
	uint32_t stack;
	uint16_t kind;
	uint8_t is_temporary;
	uint8_t lifetime; /* bucket */
	uint64_t bytes, old_bytes;
	uint64_t ticks; /* of the allocation */
	uint64_t label; /* peak_record.h; 0: none */
};
_Static_assert(sizeof(struct abi_late) == 40, "no holes");

#endif
