// SPDX-License-Identifier: Apache-2.0
#include "bpf/ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/bpf.h>

#include "bpf/syscall.h"

struct ring {
	int map; /* -1: in memory */
	ring_fn fn;
	void *arg;
	unsigned long *consumer;
	const unsigned long *producer;
	unsigned char *data; /* mapped twice in a row, so that no record is split */
	size_t size;         /* of the data once; a power of 2 */
	bool is_held_up, had_any;
	size_t consumed_bytes;
};

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* Returns 0 on failure. */
static size_t size_of(int map)
{
	struct bpf_map_info info = {.type = 0};

	if (sys_bpf_info(map, &info, sizeof(info)) < 0)
		return 0;
	if (info.type != BPF_MAP_TYPE_RINGBUF) {
		errno = EINVAL;
		return 0;
	}
	return info.max_entries;
}

static void *map_part(int map, size_t offset, size_t size, int protection)
{
	void *at = mmap(NULL, size, protection, MAP_SHARED, map, (off_t)offset);

	return at == MAP_FAILED ? NULL : at;
}

struct ring *ring_open(int map, ring_fn fn, void *arg)
{
	struct ring *ring = calloc(1, sizeof(*ring));
	unsigned char *producer;

	if (!ring)
		return NULL;
	*ring = (struct ring){.map = map, .fn = fn, .arg = arg, .size = size_of(map)};
	if (ring->size)
		ring->consumer = map_part(map, 0, page_bytes(), PROT_READ | PROT_WRITE);
	producer = ring->consumer ? map_part(map, page_bytes(),
					     page_bytes() + 2 * ring->size, PROT_READ)
				  : NULL;
	if (!producer) {
		int err = errno;

		ring_close(ring);
		errno = err;
		return NULL;
	}
	ring->producer = (const unsigned long *)(const void *)producer;
	ring->data = producer + page_bytes();
	return ring;
}

struct ring *ring_over(unsigned long *positions[2], void *data, size_t size, ring_fn fn,
		       void *arg)
{
	struct ring *ring = calloc(1, sizeof(*ring));

	if (ring)
		*ring = (struct ring){.map = -1,
				      .fn = fn,
				      .arg = arg,
				      .consumer = positions[0],
				      .producer = positions[1],
				      .data = data,
				      .size = size};
	return ring;
}

void ring_close(struct ring *ring)
{
	if (!ring)
		return;
	if (ring->map >= 0 && ring->data)
		munmap(ring->data - page_bytes(), page_bytes() + 2 * ring->size);
	if (ring->map >= 0 && ring->consumer)
		munmap(ring->consumer, page_bytes());
	free(ring);
}

/* The length of a record with its header. */
static size_t whole_length(uint32_t length)
{
	const uint32_t bits = BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT;

	return ((length & ~bits) + BPF_RINGBUF_HDR_SZ + 7) / 8 * 8;
}

/* Pass the records below `end` on. *at is the position of the first. */
static int read_up_to(struct ring *ring, unsigned long *at, unsigned long end)
{
	while (*at < end) {
		unsigned char *record = ring->data + (*at & (ring->size - 1));
		uint32_t length =
			__atomic_load_n((uint32_t *)(void *)record, __ATOMIC_ACQUIRE);
		int result = 0;

		ring->is_held_up = length & BPF_RINGBUF_BUSY_BIT;
		if (ring->is_held_up)
			return 0;
		if (!(length & BPF_RINGBUF_DISCARD_BIT))
			result = ring->fn(ring->arg, record + BPF_RINGBUF_HDR_SZ, length);
		*at += whole_length(length);
		__atomic_store_n(ring->consumer, *at, __ATOMIC_RELEASE);
		if (result < 0)
			return result;
	}
	return 0;
}

bool ring_has_any(const struct ring *ring)
{
	return __atomic_load_n(ring->consumer, __ATOMIC_ACQUIRE) !=
	       __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE);
}

int ring_consume(struct ring *ring)
{
	unsigned long at = __atomic_load_n(ring->consumer, __ATOMIC_ACQUIRE), end, before;
	/* Programs may write as fast as this reads. */
	unsigned long begin = at, last = at + ring->size;
	int result;

	ring->is_held_up = false;
	ring->had_any = ring_has_any(ring);
	do {
		before = at;
		end = __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE);
		result = read_up_to(ring, &at, end < last ? end : last);
	} while (result >= 0 && at != before);
	ring->consumed_bytes = at - begin;
	return result;
}

size_t ring_consumed_bytes(const struct ring *ring)
{
	return ring->consumed_bytes;
}

bool ring_is_held_up(const struct ring *ring)
{
	return ring->is_held_up;
}

bool ring_had_any(const struct ring *ring)
{
	return ring->had_any;
}

int ring_fd(const struct ring *ring)
{
	return ring->map;
}
