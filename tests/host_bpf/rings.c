// SPDX-License-Identifier: Apache-2.0
/* Ring buffers of BPF programs (host_bpf.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host_bpf/storage.h"

#define HEADER_BYTES 8 /* BPF_RINGBUF_HDR_SZ */

void *host_ring_reserve(struct host_map *ring, uint64_t size)
{
	struct host_storage *s = ring->storage;
	struct host_record *record;
	void *ret = NULL;

	host_point(ring->name);
	record = calloc(1, sizeof(*record) + size);
	if (!record)
		return NULL;
	record->size = size;
	record->ring = ring;
	pthread_mutex_lock(&s->lock);
	if (s->ring_bytes + size + HEADER_BYTES <= ring->count * UINT64_C(4096)) {
		s->ring_bytes += size + HEADER_BYTES;
		if (s->last)
			s->last->next = record;
		else
			s->first = record;
		s->last = record;
		ret = record->bytes;
	}
	pthread_mutex_unlock(&s->lock);
	if (!ret)
		free(record);
	return ret;
}

void host_ring_submit(void *data)
{
	struct host_record *record =
		(void *)((char *)data - offsetof(struct host_record, bytes));
	struct host_storage *s = record->ring->storage;

	host_point(record->ring->name);
	pthread_mutex_lock(&s->lock);
	record->is_submitted = 1;
	pthread_mutex_unlock(&s->lock);
}

int host_ring_output(struct host_map *ring, const void *data, uint64_t size)
{
	void *to = host_ring_reserve(ring, size);

	if (!to)
		return -EAGAIN;
	memcpy(to, data, size);
	host_ring_submit(to);
	return 0;
}

static struct host_record *pop(struct host_storage *s)
{
	struct host_record *record = s->first;

	if (!record || !record->is_submitted)
		return NULL;
	s->first = record->next;
	if (!s->first)
		s->last = NULL;
	s->ring_bytes -= record->size + HEADER_BYTES;
	return record;
}

bool host_ring_take(struct host_map *ring, void *ret, size_t size)
{
	struct host_record *record;

	pthread_mutex_lock(&ring->storage->lock);
	record = pop(ring->storage);
	pthread_mutex_unlock(&ring->storage->lock);
	if (!record)
		return false;
	memcpy(ret, record->bytes, size < record->size ? size : record->size);
	free(record);
	return true;
}

void host_ring_clear(struct host_map *ring)
{
	struct host_storage *s = ring->storage;

	while (s->first) {
		struct host_record *next = s->first->next;

		free(s->first);
		s->first = next;
	}
	s->last = NULL;
	s->ring_bytes = 0;
}
