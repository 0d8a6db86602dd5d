/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layouts of address spaces, as the probes need them to find a file's unwind rules
 * (probes/abi_walk.h, struct abi_layout). Processes with the same layout, such as the
 * children of a server, share one.
 */
#ifndef BPF_LAYOUTS_H
#define BPF_LAYOUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"
#include "abi_walk.h"
#include "bpf/fenced_map.h"
#include "unwind/images.h"
#include "util/sha256.h"
#include "util/vec.h"

/* Code ranges that a layout has room for. */
#define LAYOUT_RANGES_MAX (ABI_LAYOUT_RANGES - 1)

struct layout_record {
	uint64_t number;
	uint8_t hash[SHA256_BYTES]; /* of its contents */
	uint32_t users;             /* processes that have it */
};

struct layouts {
	struct fenced_map map;
	uint32_t max; /* entries of the map */
	VEC(struct layout_record) list;
	uint64_t last_number;
	struct abi_layout scratch;
};

/* `fd` is that of the map, with `max` entries; it and the fence are borrowed. */
void layouts_init(struct layouts *layouts, int fd, uint32_t max,
		  const struct fence *fence);
void layouts_deinit(struct layouts *layouts);

/*
 * Get the number of the layout with these ranges: ascending, and at most
 * LAYOUT_RANGES_MAX. The caller gives it back with layouts_put(). Returns 0 when no
 * further layout fits in.
 */
uint64_t layouts_get(struct layouts *layouts, const struct images_range ranges[],
		     size_t count);

/* A process does not use it any more: its record names another one, or none. 0 is fine.
 */
void layouts_put(struct layouts *layouts, uint64_t number);

#endif
