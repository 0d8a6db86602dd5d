// SPDX-License-Identifier: Apache-2.0
#include "unwind_miss/miss_ring.h"

#include <errno.h>
#include <unistd.h>

#include <linux/bpf.h>

#include "bpf/code_load.h"
#include "bpf/inner_map.h"

/* The large ring (MISS_RING_BYTES) holds 250 misses with whole copies of large stacks, or
 * some 30,000 that differ little from one another (abi_walk.h). */
#define SMALL_BYTES (512u << 10)
#define LEAST_BYTES (1u << 20) /* at the start */

/* Bytes of records in a batch that make the ring large. */
#define BUSY_BYTES ((size_t)64 << 10)

#define QUIET_NS   UINT64_C(5000000000)
/* After a failure to make the ring large. */
#define RETRY_NS UINT64_C(1000000000)

static struct error *make(struct miss_ring *r, uint32_t bytes)
{
	const struct code_map map = {
		.name = "misses_part", .type = BPF_MAP_TYPE_RINGBUF, .entries = bytes};
	struct error *err = code_map_make(&map, -1, &r->map);

	if (err)
		return err;
	r->bytes = bytes;
	r->ring = ring_open(r->map, r->fn, r->arg);
	if (r->ring)
		return NULL;
	err = error_errno(
		ERROR_IO, errno,
		"cannot map the ring buffer of stacks that memtrace unwinds itself");
	close(r->map);
	return err;
}

static struct error *put(const struct miss_ring *r)
{
	int err = -inner_map_put(r->outer, r->index, r->map);

	return err ? error_errno(ERROR_IO, err,
				 "cannot use the ring buffer of stacks that memtrace "
				 "unwinds itself")
		   : NULL;
}

static void drop(struct miss_ring *r)
{
	ring_close(r->ring);
	close(r->map);
	r->ring = NULL;
}

struct error *miss_ring_open(struct miss_ring *r, int outer, uint32_t index,
			     uint32_t bytes, const uint64_t *lost_count, ring_fn fn,
			     void *arg)
{
	*r = (struct miss_ring){.outer = outer,
				.index = index,
				.lost_count = lost_count,
				.fn = fn,
				.arg = arg};
	sem_init(&r->has_begun, 0, 0);

	struct error *err = make(r, bytes);

	for (bytes /= 2; err && bytes >= LEAST_BYTES; bytes /= 2) {
		error_destroy(err);
		err = make(r, bytes);
	}
	r->first_bytes = r->bytes;
	return err;
}

void miss_ring_close(struct miss_ring *r)
{
	if (r->ring)
		drop(r);
	error_destroy(r->failed);
	r->failed = NULL;
}

void miss_ring_begin(struct miss_ring *r)
{
	r->failed = put(r);
	sem_post(&r->has_begun);
}

struct error *miss_ring_wait(struct miss_ring *r)
{
	struct error *err;

	while (sem_wait(&r->has_begun))
		;
	sem_post(&r->has_begun);
	err = r->failed;
	r->failed = NULL;
	return err;
}

static struct error *replace(struct miss_ring *r, uint32_t bytes)
{
	struct miss_ring next = *r;
	struct error *err = make(&next, bytes);

	if (err)
		return err;
	/* Afterwards no program uses the old ring. */
	err = put(&next);
	if (err) {
		drop(&next);
		return err;
	}
	/* The function may end the call after each record. */
	while (ring_consume(r->ring) < 0)
		;
	drop(r);
	r->map = next.map;
	r->ring = next.ring;
	r->bytes = bytes;
	return NULL;
}

bool miss_ring_has_lost(const struct miss_ring *r)
{
	return __atomic_load_n(r->lost_count, __ATOMIC_SEQ_CST) != r->lost;
}

void miss_ring_fit(struct miss_ring *r, bool will_be_busy, size_t bytes, uint64_t now_ns)
{
	uint64_t lost = __atomic_load_n(r->lost_count, __ATOMIC_SEQ_CST);
	bool is_busy = will_be_busy || bytes > BUSY_BYTES || lost != r->lost;
	struct error *err = NULL;

	r->lost = lost;
	if (is_busy || !r->busy_ns)
		r->busy_ns = now_ns;
	if (is_busy && r->bytes < MISS_RING_BYTES) {
		if (r->failed_ns && now_ns - r->failed_ns < RETRY_NS)
			return;
		err = replace(r, MISS_RING_BYTES);
		r->failed_ns = err ? now_ns : 0;
	} else if (r->bytes > SMALL_BYTES && !r->stays_large &&
		   now_ns - r->busy_ns > QUIET_NS) {
		err = replace(r, SMALL_BYTES);
		/* If it failed, wait as long before the next attempt. */
		r->busy_ns = now_ns;
	}
	/* Misses that find no room are counted. */
	error_destroy(err);
}
