/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes to a BPF hash whose elements the probes read without a lock. The kernel reuses
 * the memory of a deleted element at once (kernel/bpf/memalloc.c, Linux 6.1), while a
 * probe may still be reading it. So the first write after deletions waits until the
 * running probes have ended (bpf/fence.h).
 */
#ifndef BPF_FENCED_MAP_H
#define BPF_FENCED_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/fence.h"

struct fenced_map {
	int fd;                    /* borrowed */
	const struct fence *fence; /* borrowed */
	bool has_deleted;          /* an element, since the last wait */
};

/* Insert an element that does not exist yet; an element that probes may be reading must
 * not change. Returns false if the map is full or the wait failed. */
bool fenced_map_put(struct fenced_map *map, uint64_t key, const void *value);

/* Delete an element; no effect if it does not exist. */
void fenced_map_delete(struct fenced_map *map, uint64_t key);

/* Read an element. Returns false if it does not exist. */
bool fenced_map_get(const struct fenced_map *map, uint64_t key, void *value);

#endif
