/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's offsets from the cache, or from 5 MB of BTF. That takes 50 to 90 ms: a
 * thread does it while memtrace does something else. */
#ifndef BPF_OFFSETS_READER_H
#define BPF_OFFSETS_READER_H

#include <pthread.h>
#include <stdbool.h>

#include "bpf/cache.h"
#include "bpf/kernel_offsets.h"

/* All zero: does not run. Must not be moved while it runs. */
struct offsets_reader {
	pthread_t thread;
	bool is_running;
	struct kernel_offsets offsets;
};

/* Start the thread. If that fails, offsets_reader_get() reads the offsets itself. */
void offsets_reader_init(struct offsets_reader *r);
/* Waits for the thread. */
void offsets_reader_deinit(struct offsets_reader *r);

/* Get the offsets from the cache, or from the thread (`r` may be NULL), or read them, and
 * cache them. */
void offsets_reader_get(struct offsets_reader *r, struct cache *cache,
			struct kernel_offsets *ret);

#endif
