/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The copies of stacks that walks come with: of each page what has changed since the room
 * that it comes by had it last (probes/abi_walk.h, ABI_MISS_ROOMS).
 */
#ifndef BPF_STACK_PAGES_H
#define BPF_STACK_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"
#include "abi_walk.h"
#include "util/error.h"

struct stack_room {
	uint8_t page[ABI_MISS_PAGES][ABI_MISS_PAGE_BYTES]; /* at ABI_MISS_AT */
	struct abi_miss_more more; /* the latest; whether it counts the walk says */
};

struct stack_pages {
	struct stack_room *rooms; /* room_count of them */
	uint32_t room_count;
};

/* As they are in new maps. What nothing came for takes no memory. */
struct error *stack_pages_init(struct stack_pages *pages, uint32_t cpu_slots)
	__attribute__((warn_unused_result));
void stack_pages_deinit(struct stack_pages *pages);

/*
 * Take in a record of the ring, of `size` bytes, in the order of the ring. The walk that
 * it is, when it is a whole one, and the room that has its pages as they are then; else
 * NULL.
 */
const struct abi_miss *stack_pages_take(struct stack_pages *pages, const void *record,
					size_t size, const struct stack_room **ret);

/*
 * Copy the pages of a walk that was taken in, those that could be read, to `ret`, in the
 * order of their addresses; the others there are left as they are. Returns how many
 * there are up to the last.
 */
size_t stack_room_copy(const struct stack_room *room, const struct abi_miss *walk,
		       uint8_t ret[ABI_MISS_PAGES][ABI_MISS_PAGE_BYTES]);

#endif
