/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What was live when the heap was largest, by call path. Pure functions, compiled into
 * the probes and into memtrace. docs/peak.md explains them: "One order of all events" the
 * word of the heap and the label of an event, "Call paths" the records.
 */
#ifndef PROBES_PEAK_RECORD_H
#define PROBES_PEAK_RECORD_H

/*
 * The whole heap. `state` has the low bits of the number of peaks and, below them, how
 * many bytes fewer are live than at the last peak, plus ABI_PEAK_ZERO: while memtrace
 * reads, more can be live. All changes are additions modulo 2^64.
 */
#define ABI_PEAK_SHIFT       44
#define ABI_PEAK_ZERO        (1ull << 42)
#define ABI_PEAK_BELOW(s)    (((s) & ((1ull << ABI_PEAK_SHIFT) - 1)) - ABI_PEAK_ZERO)
#define ABI_PEAK_NUMBER(s)   ((s) >> ABI_PEAK_SHIFT)
#define ABI_PEAK_NUMBER_MASK ((1ull << (64 - ABI_PEAK_SHIFT)) - 1)

/* Larger blocks are left out, and so is what would make the heap larger than
 * ABI_PEAK_MAX. */
#define ABI_PEAK_MAX_BLOCK (1ull << 40)
#define ABI_PEAK_MAX       (1ull << 43)

struct abi_heap_peak {
	uint64_t state;
	/* Added to after each peak, so it can be behind `state`. */
	uint64_t number;
	uint64_t bytes;  /* live at the last peak */
	uint64_t ticks;  /* time of the last peak */
	uint64_t frozen; /* 1: memtrace is reading; the peak does not change */
	/* The most bytes that were live while memtrace read, if they were more than at
	 * the peak before; 0: they were not. */
	uint64_t missed_bytes;
	/* Events that have no label: they are missing in all peaks. */
	uint64_t left_out;
	uint64_t unused;
};
_Static_assert(sizeof(struct abi_heap_peak) == 64, "one cache line");

/* A call path. Blocks are counted as in struct abi_flow. */
struct abi_path_peak {
	uint64_t version;                     /* odd: being changed */
	uint64_t label;                       /* the highest label of an event so far */
	uint64_t bytes_before, blocks_before; /* of events with lower labels */
	uint64_t bytes, blocks;               /* of events with this label */
	uint64_t unused[2];
};
_Static_assert(sizeof(struct abi_path_peak) == 64, "one cache line");

#if defined(__clang__)
#define PEAK_NO_UNROLL _Pragma("clang loop unroll(disable)")
#else
#define PEAK_NO_UNROLL
#endif

#define PEAK_READ(lvalue) (*(volatile uint64_t *)&(lvalue))

/* Attempts to change a record. An attempt fails only if another processor changes it at
 * the same time. The verifier follows each attempt. */
#define PEAK_TRIES 8

/* All ones if `x` is negative, else 0: without a branch, for the verifier. */
static inline uint64_t peak_negative(uint64_t x)
{
	uint64_t ones = -(x >> 63);

	__asm__ __volatile__("" : "+r"(ones));
	return ones;
}

/* Store-release. x86 keeps stores in order. */
static inline void peak_release(uint64_t *at, uint64_t value)
{
#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
	__asm__ __volatile__("" : : : "memory");
	*(volatile uint64_t *)at = value;
#else
	(void)__sync_lock_test_and_set(at, value);
#endif
}

/* While memtrace reads, `bytes` are live, more than at the last peak. */
static inline void peak_missed(struct abi_heap_peak *p, uint64_t bytes)
{
	PEAK_NO_UNROLL
	for (int i = 0; i < PEAK_TRIES; i++) {
		uint64_t missed = PEAK_READ(p->missed_bytes);

		if (bytes <= missed || __sync_val_compare_and_swap(
					       &p->missed_bytes, missed, bytes) == missed)
			return;
	}
}

/*
 * The live bytes change by `bytes`, which may be negative. Returns the event's label; 0:
 * the event is left out. Sets *is_peak if it made a new peak: then set `ticks`. Few
 * values are kept meanwhile: the BPF stack is nearly full.
 */
static inline uint64_t abi_heap_peak_add(struct abi_heap_peak *p, uint64_t bytes,
					 int *is_peak)
{
	const uint64_t before = PEAK_READ(p->number);
	uint64_t state, next = 0, raised = 0, number;

	if (bytes + ABI_PEAK_MAX_BLOCK > 2 * ABI_PEAK_MAX_BLOCK ||
	    (int64_t)(PEAK_READ(p->bytes) + bytes) > (int64_t)ABI_PEAK_MAX) {
		__sync_fetch_and_add(&p->left_out, 1);
		return 0;
	}
	PEAK_NO_UNROLL
	for (int i = 0; i < PEAK_TRIES; i++) {
		state = PEAK_READ(p->state);
		raised = ABI_PEAK_BELOW(state) - bytes;
		raised &= peak_negative(raised) & (PEAK_READ(p->frozen) - 1);
		/* If it is a peak, nothing is missing to it, and the number grows. */
		next = state - bytes - raised +
		       (peak_negative(raised) & (1ull << ABI_PEAK_SHIFT));
		if (__sync_val_compare_and_swap(&p->state, state, next) == state)
			goto done;
	}
	/* The next event makes a peak of it, if it is one. */
	next = __sync_fetch_and_add(&p->state, -bytes) - bytes;
	raised = 0;
done:
	number = before + ((ABI_PEAK_NUMBER(next) - before) & ABI_PEAK_NUMBER_MASK);
	/* So many peaks that the number is ambiguous: this program was preempted for
	 * long. */
	if ((PEAK_READ(p->number) - before) >> (63 - ABI_PEAK_SHIFT))
		__sync_fetch_and_add(&p->left_out, 1);
	if (raised) {
		__sync_fetch_and_add(&p->bytes, -raised);
		__sync_fetch_and_add(&p->number, 1);
		*is_peak = 1;
		return number;
	}
	if (peak_negative(ABI_PEAK_BELOW(next)))
		peak_missed(p, PEAK_READ(p->bytes) - ABI_PEAK_BELOW(next));
	return number + 1;
}

/*
 * Add an event to the record of its call path. Returns 0 if another program was changing
 * the record. It does not wait for that program, which may be preempted.
 */
static inline int abi_path_peak_add(struct abi_path_peak *p, uint64_t label,
				    uint64_t bytes, uint64_t blocks)
{
	uint64_t newer, older;

	PEAK_NO_UNROLL
	for (int i = 0;; i++) {
		uint64_t version = PEAK_READ(p->version) & ~1ull;

		if (__sync_val_compare_and_swap(&p->version, version, version + 1) ==
		    version)
			break;
		if (i == PEAK_TRIES - 1)
			return 0;
	}
	newer = peak_negative(p->label - label);
	older = peak_negative(label - p->label);
	p->bytes_before += (p->bytes & newer) + (bytes & older);
	p->blocks_before += (p->blocks & newer) + (blocks & older);
	p->bytes = (p->bytes & ~newer) + (bytes & ~older);
	p->blocks = (p->blocks & ~newer) + (blocks & ~older);
	p->label += (label - p->label) & newer;
	peak_release(&p->version, PEAK_READ(p->version) + 1);
	return 1;
}

#endif
