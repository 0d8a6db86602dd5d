// SPDX-License-Identifier: Apache-2.0
/*
 * The table of live blocks with several generations. Tests the probes' own code
 * (arrays/live.c), compiled for the host.
 */
#include "check.h"

#include <string.h>
#include <unistd.h>

#include PROBES_TEXT

static struct abi_control *ctl;
static struct host_task task;
static struct host_context context = {.task = &task};
static int parts[LIVE_GENERATIONS];

static void begin(void)
{
	host_maps_reset();
	host_now = &context;
	ctl = control_get();
}

/* As memtrace does (drain/live_table.c). */
static void grow(void)
{
	uint32_t next = (uint32_t)ctl->live_newest + 1;

	parts[next] = host_map_create("live_part", sizeof(struct abi_live_bucket),
				      ABI_LIVE_BUCKETS(LIVE_BUCKETS, next));
	host_map_put(&host_map_live, next, parts[next]);
	ctl->live_newest = next;
}

static void end(void)
{
	for (uint64_t g = 1; g <= ctl->live_newest; g++)
		close(parts[g]);
}

static uint64_t key_of(unsigned i)
{
	return ABI_KEY(0, 0x7f0000001000 + 16 * (uint64_t)i);
}

static bool put(unsigned i, uint64_t size_bytes)
{
	const struct abi_block block = {.size_bytes = size_bytes};

	return live_put(ctl, key_of(i), 0, &block);
}

static uint64_t replaced(void)
{
	const struct abi_counters *c = host_map_array(&host_map_counters);

	return c->value[ABI_BLOCKS_REPLACED];
}

static unsigned used_in(uint32_t generation)
{
	const struct host_map *map =
		generation ? host_map_of(parts[generation]) : &host_map_live_part;
	const struct abi_live_bucket *b = host_map_array(map);
	unsigned n = 0;

	CHECK_INT(map->count, ABI_LIVE_BUCKETS(LIVE_BUCKETS, generation));
	for (uint32_t i = 0; i < map->count; i++)
		for (int way = 0; way < ABI_LIVE_WAYS; way++)
			n += b[i].key[way] != 0;
	return n;
}

/* Blocks stay in their generation, and are found there. */
static void blocks_of_all_generations(void)
{
	struct abi_block block;

	begin();
	for (unsigned g = 0; g < LIVE_GENERATIONS; g++) {
		if (g)
			grow();
		for (unsigned i = 0; i < 5; i++)
			CHECK(put(5 * g + i, 100 + 5 * g + i));
	}
	for (uint32_t g = 0; g < LIVE_GENERATIONS; g++)
		CHECK_INT(used_in(g), 5);
	for (unsigned i = 0; i < 5 * LIVE_GENERATIONS; i++) {
		CHECK(live_take(ctl, key_of(i), &block));
		CHECK_INT(block.size_bytes, 100 + i);
		CHECK(!live_take(ctl, key_of(i), &block));
	}
	for (uint32_t g = 0; g < LIVE_GENERATIONS; g++)
		CHECK_INT(used_in(g), 0);
	end();
}

/* The probes missed the free of a block in an older generation. */
static void a_stale_block_is_replaced(void)
{
	struct abi_block block;

	begin();
	CHECK(put(1, 100));
	grow();
	CHECK(put(2, 200));
	grow();
	CHECK_INT(replaced(), 0);
	CHECK(put(1, 101));
	CHECK_INT(replaced(), 1);
	CHECK(put(2, 201));
	CHECK_INT(replaced(), 2);
	CHECK_INT(used_in(0) + used_in(1), 0);
	CHECK(live_take(ctl, key_of(1), &block));
	CHECK_INT(block.size_bytes, 101);
	CHECK(!live_take(ctl, key_of(1), &block));
	end();
}

static unsigned asked(void)
{
	uint64_t newest;
	unsigned n = 0;

	while (host_ring_take(&host_map_room_news, &newest, sizeof(newest)))
		n++;
	return n;
}

/* Once for each generation, before blocks overflow, and not beyond the last one. */
static void a_filled_table_asks(void)
{
	unsigned count = 0;

	begin();
	for (unsigned g = 0; g < LIVE_GENERATIONS; g++) {
		unsigned slots = ABI_LIVE_BUCKETS(LIVE_BUCKETS, g) * ABI_LIVE_WAYS;
		unsigned first = count;
		bool is_last = g + 1 == LIVE_GENERATIONS;

		if (g)
			grow();
		CHECK_INT(asked(), 0);
		while (ctl->live_wanted == g && count < first + slots * 7 / 10 &&
		       !ctl->spilled_blocks)
			CHECK(put(count++, 100));
		/* The spill map is still empty, and the generation is not. */
		CHECK_INT(ctl->spilled_blocks, 0);
		CHECK_INT(asked(), !is_last);
		CHECK_INT(ctl->live_wanted, is_last ? g : g + 1);
		if (is_last)
			break;
		CHECK(count > first + slots / 4);
	}
	end();
}

/* Until memtrace has added a generation, blocks go to the spill map. */
static void nothing_is_lost_meanwhile(void)
{
	const unsigned count = LIVE_BUCKETS * ABI_LIVE_WAYS + LIVE_SPILL / 2;
	struct abi_block block;

	begin();
	for (unsigned i = 0; i < count; i++)
		CHECK(put(i, 100 + i));
	CHECK(ctl->spilled_blocks >= LIVE_SPILL / 2);
	CHECK_INT(asked(), 1);
	grow();
	for (unsigned i = count; i < count + 20; i++)
		CHECK(put(i, 100 + i));
	for (unsigned i = 0; i < count + 20; i++) {
		CHECK(live_take(ctl, key_of(i), &block));
		CHECK_INT(block.size_bytes, 100 + i);
	}
	CHECK_INT(ctl->spilled_blocks, 0);
	end();
}

int main(void)
{
	RUN(blocks_of_all_generations);
	RUN(a_stale_block_is_replaced);
	RUN(a_filled_table_asks);
	RUN(nothing_is_lost_meanwhile);
	return check_done();
}
