/* SPDX-License-Identifier: Apache-2.0 */
/* Stores address-space layouts, which the probes use to find a file's unwind rules
 * (probes/abi_walk.h, struct abi_layout). Processes with equal layouts, such as the
 * children of a server, share one. */
#ifndef UNWIND_MISS_LAYOUTS_H
#define UNWIND_MISS_LAYOUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"
#include "abi_walk.h"
#include "bpf/fenced_map.h"
#include "unwind/images.h"
#include "util/sha256.h"
#include "util/vec.h"

/* Most code ranges in a layout. */
#define LAYOUT_RANGES_MAX (ABI_LAYOUT_RANGES - 1)

struct layout_record {
	uint64_t number;
	uint8_t hash[SHA256_BYTES]; /* SHA-256 of its contents */
	uint32_t users;             /* processes that use it */
};

struct layouts {
	struct fenced_map map;
	uint32_t max; /* capacity of the map */
	VEC(struct layout_record) list;
	uint64_t last_number;
	struct abi_layout scratch;
};

/* `fd` is the map, with `max` entries; `fd` and `fence` are borrowed. */
void layouts_init(struct layouts *layouts, int fd, uint32_t max,
		  const struct fence *fence);
void layouts_deinit(struct layouts *layouts);

/* Get the number of the layout with these ranges, which must be ascending and at most
 * LAYOUT_RANGES_MAX. The caller releases it with layouts_put(). Returns 0 if no further
 * layout fits. */
uint64_t layouts_get(struct layouts *layouts, const struct images_range ranges[],
		     size_t count);

/* Release a layout: the process's record no longer names it. `number` may be 0. */
void layouts_put(struct layouts *layouts, uint64_t number);

#endif
