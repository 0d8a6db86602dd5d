/* SPDX-License-Identifier: Apache-2.0 */
/* Hits of an event by stack, as in `event_counts` (probes/abi_walk.h): element
 * ABI_HIT_AT(stack) of a vector that ends with the last stack that has a hit, or later.
 */
#ifndef DRAIN_HIT_COUNTS_H
#define DRAIN_HIT_COUNTS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "util/vec.h"

struct hit_counts {
	VEC(uint64_t) list;
};

/* Make the vector at least `len` long, with zeros. Returns false without memory. */
static inline bool hit_counts_reach(struct hit_counts *hits, size_t len)
{
	if (len <= hits->list.len)
		return true;
	if (!vec_reserve(&hits->list, len))
		return false;
	memset(hits->list.data + hits->list.len, 0,
	       (len - hits->list.len) * sizeof(*hits->list.data));
	hits->list.len = len;
	return true;
}

/* Add `count` elements to the vector. Returns false without memory. */
static inline bool hit_counts_add(struct hit_counts *hits, const uint64_t from[],
				  size_t count)
{
	if (!hit_counts_reach(hits, count))
		return false;
	for (size_t i = 0; i < count; i++)
		hits->list.data[i] += from[i];
	return true;
}

static inline void hit_counts_deinit(struct hit_counts *hits)
{
	vec_deinit(&hits->list);
}

#endif
