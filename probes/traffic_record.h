/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of what happened at call paths and in threads, and what one event does to
 * them. Pure functions, compiled into the probes and into memtrace, and exact however
 * many processors count in one record at once.
 */
#ifndef PROBES_TRAFFIC_RECORD_H
#define PROBES_TRAFFIC_RECORD_H

/* Bytes that are outstanding, and most that were so at once. */
struct abi_outstanding {
	uint64_t live_bytes;
	uint64_t peak_bytes;
	uint64_t peak_when; /* abi_peak_when() */
};

/* When a peak was, in 16 ticks: at 1,000 ticks a second 32 bits last for two years. */
#define ABI_PEAK_TICK_SHIFT  4
#define ABI_PEAK_TICKS(when) ((when) >> 32 << ABI_PEAK_TICK_SHIFT)

/*
 * What came and went. Blocks are whole ones, or where they were sampled by bytes what
 * they stand for in 1/65536 blocks (abi.h).
 */
struct abi_flow {
	uint64_t allocations, allocated_bytes;
	uint64_t frees, freed_bytes;
	uint64_t temporary;
	struct abi_outstanding outstanding;
};
_Static_assert(sizeof(struct abi_flow) == 64, "one cache line");

/* Buckets of powers of two: 0 counts 0, i counts 2^(i-1) to 2^i - 1. */
#define ABI_SIZE_BUCKETS 65
/* Powers of two: the probes mask an index, instead of a branch for the verifier. */
#define ABI_LIFETIME_BUCKETS 32 /* of milliseconds; the last counts all longer ones */
#define ABI_PATH_SIZES       32 /* of bytes, at one call path; likewise */

/* 1 when `x` is not 0, without a branch: the verifier would follow both sides of each. */
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

/* Of a block that was freed `age_ticks` after it was allocated. */
static inline uint32_t abi_lifetime_bucket(uint64_t age_ticks, uint64_t tick_ns)
{
	uint32_t bucket = abi_bucket(age_ticks * tick_ns / 1000000);

	return bucket < ABI_LIFETIME_BUCKETS ? bucket : ABI_LIFETIME_BUCKETS - 1;
}

/* One call path: an element of `traffic`. */
struct abi_traffic {
	struct abi_flow flow;
	uint64_t lifetime[ABI_LIFETIME_BUCKETS];
	uint64_t size[ABI_PATH_SIZES]; /* of blocks when they were allocated */
};
_Static_assert(sizeof(struct abi_traffic) == 576, "whole cache lines");

/* Where a size is counted at a call path, by its bucket of all sizes. */
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

/* Add, and tell the sum. */
#ifdef NO_ATOMICS
#define TRAFFIC_ADD(lvalue, n) traffic_add(&(lvalue), (n))

/* What others did in between is in the sum as well. */
static inline uint64_t traffic_add(uint64_t *at, uint64_t n)
{
	/* Of a 0 the compiler would make an instruction that those kernels lack. */
	__asm__ __volatile__("" : "+r"(n));
	__sync_fetch_and_add(at, n);
	return TRAFFIC_READ(*at);
}

/* claim.c */
static inline __attribute__((always_inline)) void
abi_raise_peak(struct abi_outstanding *o, uint64_t live, uint64_t when);
#else
#define TRAFFIC_ADD(lvalue, n) (__sync_fetch_and_add(&(lvalue), (n)) + (n))

/* How often a peak is tried to be raised. Each try that fails is one of another processor
 * that succeeds, within nanoseconds, and the verifier follows each. */
#define TRAFFIC_PEAK_TRIES     8

/*
 * `live` bytes were outstanding at `when`. Of those that raise the peak at once the
 * highest wins. Whose it is says so in peak_when, unless another has won meanwhile: each
 * writes only over what it found there before it raised the peak, or while the peak is
 * its own.
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
			/* Signed: a free can be counted before its allocation is. */
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

/* The ticks of a peak, and how many blocks were outstanding then. */
static inline uint64_t abi_peak_when(uint64_t ticks, uint64_t blocks)
{
	return ticks >> ABI_PEAK_TICK_SHIFT << 32 |
	       (blocks < 0xffffffffu ? blocks : 0xffffffffu);
}

/* `blocks_shift` is 16 where blocks are in 1/65536, else 0. */
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

/* A block got another size where it is: what it grew by was allocated, what it shrank by
 * was freed, and it is the same block. Where it was sampled by bytes it stands for
 * `more_blocks` more than before, or fewer. */
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
 * One thread, in an open-addressing table: it is in one of ABI_THREAD_WAYS records from
 * the one on that abi_live_hash() of its key names. A ring of what its last heap events
 * were follows in the record (`recent`): the key of the block that was allocated, or 0.
 */
#define ABI_THREAD_WAYS 16

struct abi_thread {
	uint64_t key; /* ABI_THREAD_KEY(), 0: free */
	uint64_t next_recent;
	uint64_t allocations, allocated_bytes;
	uint64_t frees, freed_bytes; /* by it, of whoever's blocks */
	uint64_t freed_by_others, freed_by_others_bytes;
	uint64_t freed_own, freed_own_bytes;
	char name[16]; /* when it was last looked at */
};
_Static_assert(sizeof(struct abi_thread) == 96, "no holes");

#define ABI_THREAD_KEY(slot, tid)    ((uint64_t)(slot) << 32 | (uint32_t)(tid))
#define ABI_THREAD_SLOT(key)         ((uint32_t)((key) >> 32))
#define ABI_THREAD_TID(key)          ((uint32_t)(key))
#define ABI_THREAD_AT(key, i, slots) ((abi_live_hash(key, slots, 0) + (i)) & ((slots)-1))

/* The one element of `traffic_all`. */
struct abi_traffic_all {
	uint64_t tick_ns;      /* how long a tick of the blocks is; written by memtrace */
	uint64_t threads_full; /* events of threads that found no room in `threads` */
	uint64_t late_lost;    /* events that found no room in `late` */
	struct abi_outstanding traced, estimated; /* all heap blocks */
};

/* What one process holds: an element of `process_live`. It is taken off all together when
 * the process is no more, which is before its blocks are taken out of the tables. */
struct abi_process_live {
	uint64_t bytes, estimated_bytes;
};

/* Sizes that were allocated; one record per processor. */
struct abi_sizes {
	uint64_t count[ABI_SIZE_BUCKETS];
};

/*
 * An event of a block whose stack has no number yet (ABI_MISS_STACK): memtrace counts it
 * once it has one.
 */
#define ABI_LATE_NUMBERS 65536

/* An element of `late_numbers`, by the low bits of the stack: what number it came to
 * have, once its allocation is counted. From then on the probes count the block's events.
 */
#define ABI_LATE_NUMBER(stack, number) ((uint64_t)(stack) << 32 | (uint32_t)(number))
#define ABI_LATE_NUMBER_STACK(element) ((uint32_t)((element) >> 32))

enum abi_late_kind {
	ABI_LATE_ALLOCATED = 1,
	ABI_LATE_FREED,   /* also temporary, lifetime */
	ABI_LATE_GONE,    /* the same without a lifetime: it was not seen to be freed */
	ABI_LATE_RESIZED, /* old_bytes to bytes */
};

struct abi_late {
	uint32_t stack;
	uint16_t kind;
	uint8_t is_temporary;
	uint8_t lifetime; /* bucket */
	uint64_t bytes, old_bytes;
	uint64_t ticks; /* of an allocation */
};
_Static_assert(sizeof(struct abi_late) == 32, "no holes");

#endif
