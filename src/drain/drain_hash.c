// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/bpf.h>

#include "drain/drain_blocks.h"
#include "bpf/syscall.h"
#include "util/cleanup.h"

/* Elements per read, at first: a whole bucket of the hash must fit. */
#define BATCH_ELEMENTS 4096
#define BATCH_BUSY_MAX 1000
#define BATCH_MAX      (1u << 20)

struct batch {
	int fd;
	size_t value_bytes;
	uint32_t capacity, count;
	uint64_t *keys;
	char *values;
	uint32_t position; /* the next bucket of the hash */
	bool is_begun, is_over;
};

static void batch_deinit(struct batch *b)
{
	free(b->keys);
	free(b->values);
}

static bool batch_grow(struct batch *b, uint32_t capacity)
{
	batch_deinit(b);
	b->capacity = capacity;
	b->keys = calloc(capacity, sizeof(*b->keys));
	b->values = calloc(capacity, b->value_bytes);
	return b->keys && b->values;
}

/* Read the next elements. Returns 0 or -errno; -ENOSPC: the next bucket does not fit. */
static int batch_read(struct batch *b)
{
	union bpf_attr attr;
	uint32_t next = 0;

	memset(&attr, 0, sizeof(attr));
	attr.batch.map_fd = (uint32_t)b->fd;
	attr.batch.in_batch = b->is_begun ? (uint64_t)(uintptr_t)&b->position : 0;
	attr.batch.out_batch = (uint64_t)(uintptr_t)&next;
	attr.batch.keys = (uint64_t)(uintptr_t)b->keys;
	attr.batch.values = (uint64_t)(uintptr_t)b->values;
	attr.batch.count = b->capacity;

	int err = sys_bpf(BPF_MAP_LOOKUP_BATCH, &attr, sizeof(attr));

	if (err && err != -ENOENT)
		return err;
	/* ENOENT: these were the last elements. */
	b->is_over = err == -ENOENT;
	b->count = attr.batch.count;
	b->position = next;
	b->is_begun = true;
	return 0;
}

struct error *drain_walk_hash(int fd, size_t value_bytes,
			      bool (*fn)(uint64_t key, const void *value, void *arg),
			      void *arg)
{
	_cleanup_(batch_deinit) struct batch b = {.fd = fd, .value_bytes = value_bytes};
	unsigned busy = 0;
	uint64_t first;

	/* The hash is usually empty. Check that without a batch: a batch keeps perf event
	 * programs from running on its processor (bpf_disable_instrumentation(),
	 * include/linux/bpf.h). */
	if (sys_bpf_element(BPF_MAP_GET_NEXT_KEY, fd, NULL, &first) == -ENOENT)
		return NULL;
	if (!batch_grow(&b, BATCH_ELEMENTS))
		return error_no_memory();
	while (!b.is_over) {
		int err = batch_read(&b);

		if (err == -ENOSPC && b.capacity < BATCH_MAX) {
			if (!batch_grow(&b, b.capacity * 2))
				return error_no_memory();
			continue;
		}
		/* EBUSY: the bucket is locked by a task that was interrupted on this
		 * processor. */
		if (err == -EBUSY && busy++ < BATCH_BUSY_MAX)
			continue;
		if (err)
			return error_errno(ERROR_IO, -err,
					   "cannot read a BPF map of memtrace's probes");
		for (uint32_t i = 0; i < b.count; i++)
			if (!fn(b.keys[i], b.values + i * value_bytes, arg))
				return error_no_memory();
	}
	return NULL;
}
