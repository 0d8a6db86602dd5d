/* SPDX-License-Identifier: Apache-2.0 */
/* The contents of a map (host_bpf.h). */
#ifndef HOST_BPF_STORAGE_H
#define HOST_BPF_STORAGE_H

#include <pthread.h>

#include "host_bpf/host_bpf.h"

#define HOST_CHAINS 1024

struct host_element {
	struct host_element *next;
	_Alignas(8) char bytes[]; /* the key, padded to 8 bytes, and the value */
};

struct host_record {
	struct host_record *next;
	uint64_t size;
	struct host_map *ring;
	uint64_t is_submitted;
	_Alignas(8) char bytes[];
};

struct host_storage {
	pthread_mutex_t lock; /* guards everything below */
	char *array;
	struct host_map **part; /* of an array of maps */
	struct host_element *chain[HOST_CHAINS];
	struct host_element *dead; /* deleted, and perhaps still in use */
	uint32_t used;
	struct host_record *first, *last; /* of a ring */
	uint64_t ring_bytes;
};

void host_ring_clear(struct host_map *ring);

#endif
