/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table that grows while the probes use it: an array of maps, with parts of equal size
 * (probes/abi_walk.h, ABI_PARTS_MAX). The parts are mmapable BPF arrays. They are added
 * in order and never removed.
 */
#ifndef DRAIN_PART_TABLE_H
#define DRAIN_PART_TABLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi.h"
#include "abi_walk.h"
#include "bpf/mapped.h"
#include "util/error.h"

struct part_table {
	int outer; /* the array of maps; borrowed */
	const char *name;
	uint32_t value_bytes, part_entries, count; /* at most `count` parts */
	const uint32_t *entries; /* in each part; borrowed; NULL: part_entries */
	pid_t owner;             /* the process that adds parts */
	pthread_mutex_t lock;    /* held while a part is added */
	/* `known` of them; the first one is borrowed. */
	int part[ABI_PARTS_MAX];
	uint32_t known;
	bool is_short; /* this process cannot open a part that it needs */
	bool is_unput; /* the kernel has refused to put a part into `outer` */
};

/* `outer` is the array of maps NAME and `first` the map NAME_part, which becomes the only
 * part. The probes can use it after part_table_put(). The table can get room for
 * `entries` elements; a part has `part_entries`. */
void part_table_open(struct part_table *t, const char *name, int outer, int first,
		     uint32_t value_bytes, uint32_t entries, uint32_t part_entries);
/* Can be called on an all-zero struct. */
void part_table_close(struct part_table *t);

/* Has the table fewer than `count` parts, and room for more? */
bool part_table_lacks(const struct part_table *t, uint32_t count);

/* Parts that no probe can use yet. */
struct new_parts {
	struct part_table *table;
	uint32_t first, count;
};

/* Create parts until there are `count`, or as many as there can be. Any thread of the
 * owner may call this. */
struct error *part_table_create(struct part_table *t, uint32_t count,
				struct new_parts *ret)
	__attribute__((warn_unused_result));

/* Let the probes use the parts, and wait as inner_map_put() does. Kernels before 6.8
 * wait after each part: the probes can use the next one only then. On failure,
 * table->is_unput is set. */
void part_table_put(const struct new_parts *parts);

/* The descriptor of a part. Returns -1 if it does not exist. In a forked child also if it
 * may not open what its parent has added, or if the parent has not put it yet: then
 * t->is_short is set. */
int part_table_part(struct part_table *t, uint32_t part);

/* The number of elements in the parts that this process can open, up to `used`. */
uint32_t part_table_elements(struct part_table *t, uint64_t used);

/* As mapped_walk(), for the first `count` elements. They must exist. */
struct error *part_table_walk(struct part_table *t, uint32_t count, mapped_fn fn,
			      void *arg) __attribute__((warn_unused_result));

#endif
