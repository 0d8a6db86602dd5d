// SPDX-License-Identifier: Apache-2.0
#include "drain/stack_pages.h"

#include <stdlib.h>
#include <string.h>

struct error *stack_pages_init(struct stack_pages *pages, uint32_t cpu_slots)
{
	pages->room_count = cpu_slots * ABI_MISS_ROOMS;
	pages->rooms = calloc(pages->room_count, sizeof(*pages->rooms));
	return pages->rooms ? NULL : error_no_memory();
}

void stack_pages_deinit(struct stack_pages *pages)
{
	free(pages->rooms);
	pages->rooms = NULL;
}

static size_t count_changed(const struct abi_miss *walk)
{
	size_t count = 0;

	for (size_t i = 0; i < ABI_MISS_PAGES; i++)
		count += (size_t)__builtin_popcountll(walk->changed[i]);
	return count;
}

static void apply(struct stack_room *room, const struct abi_miss *walk)
{
	const uint8_t(*next)[ABI_MISS_BLOCK_BYTES] = walk->block;

	for (size_t i = 0; i < ABI_MISS_PAGES; i++) {
		uint64_t at = ABI_MISS_AT(walk->base + i * ABI_MISS_PAGE_BYTES);

		for (uint64_t left = walk->changed[at]; left; left &= left - 1)
			memcpy(room->page[at] +
				       __builtin_ctzll(left) * ABI_MISS_BLOCK_BYTES,
			       next++, ABI_MISS_BLOCK_BYTES);
	}
}

static void apply_far(struct stack_room *room, const struct abi_miss_far *page)
{
	memcpy(room->far_page[ABI_MISS_FAR_AT(page->address)], page->words,
	       sizeof(page->words));
}

static size_t at_most(size_t size, size_t limit)
{
	return size < limit ? size : limit;
}

const struct abi_miss *stack_pages_take(struct stack_pages *pages, const void *record,
					size_t size, const struct stack_room **ret)
{
	/* All structs begin with the same two members. */
	const struct abi_miss *walk = record;
	struct stack_room *room;

	if (size < sizeof(walk->kind) + sizeof(walk->room) ||
	    walk->room >= pages->room_count)
		return NULL;
	room = &pages->rooms[walk->room];
	if (walk->kind == ABI_MISS_REPLACED)
		memcpy(&room->replaced, record, at_most(size, sizeof(room->replaced)));
	if (walk->kind == ABI_MISS_FRAMES)
		memcpy(&room->frames, record, at_most(size, sizeof(room->frames)));
	if (walk->kind == ABI_MISS_FAR && size >= sizeof(struct abi_miss_far))
		apply_far(room, record);
	if (walk->kind != ABI_MISS_WALK || size < ABI_MISS_BYTES(0) ||
	    size < ABI_MISS_BYTES(count_changed(walk)))
		return NULL;
	apply(room, walk);
	*ret = room;
	return walk;
}

size_t stack_room_copy(const struct stack_room *room, const struct abi_miss *walk,
		       uint8_t ret[ABI_MISS_ALL_PAGES][ABI_MISS_PAGE_BYTES])
{
	size_t count = 0;

	for (size_t i = 0; i < ABI_MISS_ALL_PAGES; i++) {
		uint64_t address = walk->base + i * ABI_MISS_PAGE_BYTES;

		if (!(walk->present >> i & 1))
			continue;
		memcpy(ret[i],
		       i < ABI_MISS_PAGES ? room->page[ABI_MISS_AT(address)]
					  : room->far_page[ABI_MISS_FAR_AT(address)],
		       ABI_MISS_PAGE_BYTES);
		count = i + 1;
	}
	return count;
}
