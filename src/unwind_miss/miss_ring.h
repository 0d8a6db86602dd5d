/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring of unwind misses, in an array of maps. It is large at the start and whenever
 * code is mapped: until memtrace has the unwind tables of that code, each stack that
 * leads through it is a miss. After a quiet time it is replaced by a small ring, unless
 * the probes have no unwind tables.
 */
#ifndef UNWIND_MISS_MISS_RING_H
#define UNWIND_MISS_MISS_RING_H

#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

#include "bpf/ring.h"
#include "util/error.h"

#define MISS_RING_BYTES       (16u << 20)  /* of a large ring */
#define MISS_RING_FIRST_BYTES (512u << 10) /* of ABI_MISS_RING_FIRST, at any time */

struct miss_ring {
	int outer;      /* the array of maps; borrowed */
	uint32_t index; /* in that array */
	int map;
	struct ring *ring; /* over `map` */
	ring_fn fn;
	void *arg;
	uint32_t bytes;       /* size of the ring */
	uint32_t first_bytes; /* size at the start */
	bool stays_large;     /* never make it small; false after miss_ring_open() */
	uint64_t busy_ns;     /* when it was last busy, CLOCK_MONOTONIC ns */
	uint64_t failed_ns;   /* when it could not be made large; 0: it could */
	const uint64_t *lost_count;
	uint64_t lost;        /* as of the last miss_ring_fit() */
	sem_t has_begun;      /* miss_ring_begin() has ended */
	struct error *failed; /* of miss_ring_begin() */
};

/* `outer` is the map `misses`, `index` is ABI_MISS_RING or ABI_MISS_RING_FIRST. If the
 * kernel has no memory for `bytes`, the ring is smaller, down to 1 MB. *lost_count: how
 * many records have found no room; borrowed. `fn` and `arg` as for ring_open(). */
struct error *miss_ring_open(struct miss_ring *r, int outer, uint32_t index,
			     uint32_t bytes, const uint64_t *lost_count, ring_fn fn,
			     void *arg) __attribute__((warn_unused_result));
/* Can be called on an all-zero struct. */
void miss_ring_close(struct miss_ring *r);

/* Let the probes use the ring. This takes some 10 ms. */
void miss_ring_begin(struct miss_ring *r);
/* Wait until miss_ring_begin() has ended in another thread. */
struct error *miss_ring_wait(struct miss_ring *r) __attribute__((warn_unused_result));

/* Have records found no room since the last miss_ring_fit()? */
bool miss_ring_has_lost(const struct miss_ring *r);

/* Replace the ring if it is too small, or has been too large for some time. The records
 * of the old ring are passed to the function first. `will_be_busy`: there are unwind
 * tables to build. `bytes`: of the records in the last batch. */
void miss_ring_fit(struct miss_ring *r, bool will_be_busy, size_t bytes, uint64_t now_ns);

#endif
