/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing to a BPF hash whose elements the probes read without a lock. The kernel gives
 * the memory of a deleted element to the next one at once (kernel/bpf/memalloc.c,
 * Linux 6.1), while a probe may still be reading it. So after deletions the next write
 * waits for the probes that are running (bpf/fence.h), once for all of them.
 */
#ifndef BPF_FENCED_MAP_H
#define BPF_FENCED_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/fence.h"

struct fenced_map {
	int fd;                    /* borrowed */
	const struct fence *fence; /* borrowed */
	bool has_deleted;          /* since the last wait */
};

/* Put an element that is not there yet; an element that is read must not change. Returns
 * false when the kernel has no room, or when the wait failed. */
bool fenced_map_put(struct fenced_map *map, uint64_t key, const void *value);

/* Delete an element; nothing happens when it is not there. */
void fenced_map_delete(struct fenced_map *map, uint64_t key);

/* Read an element; false when it is not there. */
bool fenced_map_get(const struct fenced_map *map, uint64_t key, void *value);

#endif
