/* SPDX-License-Identifier: Apache-2.0 */
/* Rebuilds the stack copies of unwind misses. A miss carries, for each page, only what
 * has changed since the last miss that used the same room (probes/abi_walk.h,
 * ABI_MISS_ROOMS). */
#ifndef DRAIN_STACK_PAGES_H
#define DRAIN_STACK_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"
#include "abi_walk.h"
#include "util/error.h"

struct stack_room {
	uint8_t page[ABI_MISS_PAGES][ABI_MISS_PAGE_BYTES]; /* at ABI_MISS_AT */
	/* at ABI_MISS_FAR_AT */
	uint8_t far_page[ABI_MISS_ALL_PAGES][ABI_MISS_PAGE_BYTES];
	/* the last ones received; the miss says whether they apply */
	struct abi_miss_replaced replaced;
	struct abi_miss_frames frames;
};

struct stack_pages {
	struct stack_room *rooms; /* room_count of them */
	uint32_t room_count;
};

/* All pages are zero, as in new maps. Rooms that are never used take no memory. */
struct error *stack_pages_init(struct stack_pages *pages, uint32_t cpu_slots)
	__attribute__((warn_unused_result));
void stack_pages_deinit(struct stack_pages *pages);

/* Apply a record of the ring, `size` bytes, in the order of the ring. If it is a complete
 * miss, returns it, and *ret is its room with the pages of that moment. Returns NULL for
 * other records. */
const struct abi_miss *stack_pages_take(struct stack_pages *pages, const void *record,
					size_t size, const struct stack_room **ret);

/* Copy the readable pages of a miss to `ret`, in the order of their addresses; the other
 * pages of `ret` stay unchanged. Call it before the next stack_pages_take(). Returns the
 * index of the last page copied, plus 1. */
size_t stack_room_copy(const struct stack_room *room, const struct abi_miss *walk,
		       uint8_t ret[ABI_MISS_ALL_PAGES][ABI_MISS_PAGE_BYTES]);

#endif
