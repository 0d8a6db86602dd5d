// SPDX-License-Identifier: Apache-2.0
/* Copies of stacks, put together from the blocks that changed. */
#include "check.h"

#include "drain/stack_pages.h"
#include "util/cleanup.h"

#define CPUS 2
#define BASE UINT64_C(0x7ffc00003000)

struct walk {
	struct abi_miss miss;
	size_t blocks;
};

static struct walk *walk_create(uint32_t room, uint64_t present)
{
	struct walk *w = calloc(1, sizeof(*w));

	REQUIRE(w);
	w->miss.kind = ABI_MISS_WALK;
	w->miss.room = room;
	w->miss.base = BASE;
	w->miss.present = present;
	return w;
}

/* Fills block number `block` of page `page` with `byte`. Blocks must be changed in
 * ascending order. */
static void change(struct walk *w, size_t page, size_t block, uint8_t byte)
{
	uint64_t at = ABI_MISS_AT(BASE + page * ABI_MISS_PAGE_BYTES);

	w->miss.changed[at] |= UINT64_C(1) << block;
	memset(w->miss.block[w->blocks++], byte, ABI_MISS_BLOCK_BYTES);
}

static const struct stack_room *take_in(struct stack_pages *pages, struct walk *w)
{
	const struct stack_room *room = NULL;

	CHECK(stack_pages_take(pages, &w->miss, ABI_MISS_BYTES(w->blocks), &room) ==
	      &w->miss);
	REQUIRE(room);
	return room;
}

/* An address's number selects its page, and the numbers wrap. */
static void copies_of_one_thread(void)
{
	struct walk *first = walk_create(5, 0xb), *second = walk_create(5, 0x8001);
	uint8_t copy[ABI_MISS_ALL_PAGES][ABI_MISS_PAGE_BYTES];
	struct stack_pages pages;
	const struct stack_room *room;

	REQUIRE(!stack_pages_init(&pages, CPUS));
	memset(copy, 9, sizeof(copy));
	change(first, 0, 63, 1);
	change(first, 1, 0, 2);
	change(first, 1, 1, 3);
	change(first, 3, 7, 4);
	room = take_in(&pages, first);
	CHECK_INT(stack_room_copy(room, &first->miss, copy), 4);
	CHECK_INT(copy[0][62 * 64 + 63], 0);
	CHECK_INT(copy[0][63 * 64], 1);
	CHECK_INT(copy[0][4095], 1);
	CHECK_INT(copy[1][63], 2);
	CHECK_INT(copy[1][64], 3);
	CHECK_INT(copy[1][128], 0);
	CHECK_INT(copy[2][0], 9); /* a hole */
	CHECK_INT(copy[3][7 * 64], 4);
	CHECK_INT(copy[3][8 * 64], 0);
	CHECK_INT(copy[4][0], 9);

	/* Unchanged blocks stay. The last page is at the address before the first one. */
	change(second, 0, 62, 5);
	change(second, 15, 63, 6);
	room = take_in(&pages, second);
	CHECK_INT(stack_room_copy(room, &second->miss, copy), 16);
	CHECK_INT(copy[0][62 * 64], 5);
	CHECK_INT(copy[0][63 * 64], 1);
	CHECK_INT(copy[15][4095], 6);
	CHECK_INT(room->page[ABI_MISS_AT(BASE) - 1][4095], 6);
	/* Other rooms have no part of it. */
	CHECK_INT(pages.rooms[4].page[ABI_MISS_AT(BASE)][4095], 0);
	stack_pages_deinit(&pages);
	free(first);
	free(second);
}

/* Of the records before a walk, as much is sent as there is. */
static void records_before_a_walk(void)
{
	struct stack_pages pages;
	const struct stack_room *room = NULL;
	struct abi_miss_replaced replaced = {.kind = ABI_MISS_REPLACED,
					     .room = CPUS * ABI_MISS_ROOMS - 1};
	struct abi_miss_frames frames = {.kind = ABI_MISS_FRAMES, .room = replaced.room};
	size_t sent = offsetof(struct abi_miss_frames, pc) + 2 * sizeof(frames.pc[0]);
	struct walk *w = walk_create(frames.room, 0);

	REQUIRE(!stack_pages_init(&pages, CPUS));
	frames.pc[1] = 76;
	frames.pc[2] = frames.pc[ABI_MAX_DEPTH] = 77;
	replaced.replacement[ABI_MISS_REPLACEMENTS - 1].at = 78;
	CHECK(!stack_pages_take(&pages, &replaced, sizeof(replaced), &room));
	CHECK(!stack_pages_take(&pages, &frames, sent, &room));
	CHECK(!room);
	room = take_in(&pages, w);
	CHECK_INT(room->frames.pc[1], 76);
	CHECK_INT(room->frames.pc[2], 0);
	CHECK_INT(room->replaced.replacement[ABI_MISS_REPLACEMENTS - 1].at, 78);
	CHECK(!stack_pages_take(&pages, &frames, sizeof(frames), &room));
	CHECK_INT(take_in(&pages, w)->frames.pc[ABI_MAX_DEPTH], 77);
	CHECK_INT(pages.rooms[0].frames.pc[1], 0);
	stack_pages_deinit(&pages);
	free(w);
}

static struct abi_miss_far *far_page(uint64_t page, uint8_t byte)
{
	static struct abi_miss_far far = {.kind = ABI_MISS_FAR, .room = 5};

	far.address = BASE + page * ABI_MISS_PAGE_BYTES;
	memset(far.words, byte, sizeof(far.words));
	return &far;
}

/* Pages beyond the first 16 stay for later walks. A walk says which of them it has. */
static void far_pages(void)
{
	static uint8_t copy[ABI_MISS_ALL_PAGES][ABI_MISS_PAGE_BYTES];
	struct walk *w = walk_create(5, 0xffff);
	const struct stack_room *room = NULL;
	struct stack_pages pages;

	REQUIRE(!stack_pages_init(&pages, CPUS));
	for (unsigned i = ABI_MISS_PAGES; i < ABI_MISS_ALL_PAGES; i++)
		CHECK(!stack_pages_take(&pages, far_page(i, (uint8_t)i),
					sizeof(struct abi_miss_far), &room));
	/* Not all of it came. */
	CHECK(!stack_pages_take(&pages, far_page(17, 99), sizeof(struct abi_miss_far) - 1,
				&room));
	CHECK(!room);
	w->miss.present = 0x2ffff;
	room = take_in(&pages, w);
	CHECK_INT(stack_room_copy(room, &w->miss, copy), 18);
	CHECK_INT(copy[15][0], 0);
	CHECK_INT(copy[16][0], 0); /* a hole */
	CHECK_INT(copy[17][4095], 17);
	CHECK_INT(copy[18][0], 0);
	CHECK(!stack_pages_take(&pages, far_page(17, 98), sizeof(struct abi_miss_far),
				&room));
	w->miss.present = UINT64_MAX;
	room = take_in(&pages, w);
	CHECK_INT(stack_room_copy(room, &w->miss, copy), ABI_MISS_ALL_PAGES);
	CHECK_INT(copy[17][0], 98);
	CHECK_INT(copy[63][4095], 63);
	stack_pages_deinit(&pages);
	free(w);
}

/* Nothing of damaged messages is used. */
static void damaged(void)
{
	struct stack_pages pages;
	const struct stack_room *room = NULL;
	struct walk *w = walk_create(0, 1);

	REQUIRE(!stack_pages_init(&pages, CPUS));
	change(w, 0, 3, 1);
	change(w, 0, 4, 1);
	CHECK(!stack_pages_take(&pages, &w->miss, 0, &room));
	CHECK(!stack_pages_take(&pages, &w->miss, 7, &room));
	CHECK(!stack_pages_take(&pages, &w->miss, ABI_MISS_BYTES(0) - 1, &room));
	CHECK(!stack_pages_take(&pages, &w->miss, ABI_MISS_BYTES(2) - 1, &room));
	CHECK_INT(pages.rooms[0].page[ABI_MISS_AT(BASE)][3 * 64], 0);
	w->miss.room = CPUS * ABI_MISS_ROOMS;
	CHECK(!stack_pages_take(&pages, &w->miss, ABI_MISS_BYTES(2), &room));
	w->miss.room = 0;
	w->miss.kind = 0;
	CHECK(!stack_pages_take(&pages, &w->miss, ABI_MISS_BYTES(2), &room));
	CHECK(!room);
	w->miss.kind = ABI_MISS_WALK;
	CHECK_INT(take_in(&pages, w)->page[ABI_MISS_AT(BASE)][3 * 64], 1);
	stack_pages_deinit(&pages);
	free(w);
}

int main(void)
{
	RUN(copies_of_one_thread);
	RUN(records_before_a_walk);
	RUN(far_pages);
	RUN(damaged);
	return check_done();
}
