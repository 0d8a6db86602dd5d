// SPDX-License-Identifier: Apache-2.0
/* The records with whole stacks that the probes send through the ring. */
#include "unwind_miss/miss_record.h"

#include <stdlib.h>
#include <string.h>

#include "abi_walk.h"
#include "check.h"

#define DEPTH_MAX 20

struct bench {
	struct source_sizes sizes;
	struct miss_maps maps;
	struct miss_handler_counts counts;
	struct miss_walker *walker;
	struct stack_pages pages;
};

static void bench_init(struct bench *b)
{
	memset(b, 0, sizeof(*b));
	b->sizes.process_slots = 1;
	b->maps.sizes = &b->sizes;
	b->walker = calloc(1, sizeof(*b->walker));
	REQUIRE(b->walker);
	b->walker->maps = &b->maps;
	b->walker->counts = &b->counts;
	b->walker->max_depth = DEPTH_MAX;
	REQUIRE(!stack_pages_init(&b->pages, 1));
}

static void bench_deinit(struct bench *b)
{
	stack_pages_deinit(&b->pages);
	free(b->walker);
}

static struct abi_walked walked(uint8_t depth, uint8_t end)
{
	struct abi_walked ret = {.kind = ABI_MISS_WALKED,
				 .depth = depth,
				 .gap = 3,
				 .end = end,
				 .allocator = 7,
				 .number = 12345,
				 .family = 99};

	for (uint64_t i = 0; i < depth; i++)
		ret.pc[i] = 1000 + i;
	return ret;
}

/* `is_cut` makes no difference: nothing needs to be unwound. */
static void a_whole_stack_is_read(bool is_cut)
{
	struct abi_walked record = walked(DEPTH_MAX, ABI_END_COMPLETE);
	struct miss_record ret;
	struct bench b;

	bench_init(&b);
	REQUIRE(miss_record_read(b.walker, &b.pages, &record, ABI_WALKED_BYTES(DEPTH_MAX),
				 is_cut, &ret));
	CHECK(ret.has_stack);
	CHECK_INT(ret.number, 12345);
	CHECK_INT(ret.allocator, 7);
	CHECK_INT(ret.stack.allocator, 7);
	CHECK_INT(ret.stack.family, 99);
	CHECK_INT(ret.stack.depth, DEPTH_MAX);
	CHECK_INT(ret.stack.gap, 3);
	CHECK_INT(ret.stack.end, ABI_END_COMPLETE);
	for (uint64_t i = 0; i < DEPTH_MAX; i++)
		CHECK_INT(ret.stack.pcs[i], 1000 + i);
	CHECK_INT(b.counts.unreadable + b.counts.truncated + b.counts.walks +
			  b.counts.over_budget,
		  0);
	bench_deinit(&b);
}

static void whole_stacks_are_read(void)
{
	a_whole_stack_is_read(false);
	a_whole_stack_is_read(true);
}

/* As the probes do when they store such a stack themselves. */
static void incomplete_ones_are_counted(void)
{
	struct abi_walked record = walked(5, ABI_END_UNREADABLE);
	struct miss_record ret;
	struct bench b;

	bench_init(&b);
	REQUIRE(miss_record_read(b.walker, &b.pages, &record, ABI_WALKED_BYTES(5), false,
				 &ret));
	CHECK_INT(b.counts.unreadable, 1);
	record = walked(5, ABI_END_DEPTH);
	REQUIRE(miss_record_read(b.walker, &b.pages, &record, ABI_WALKED_BYTES(5), false,
				 &ret));
	CHECK_INT(b.counts.truncated, 1);
	bench_deinit(&b);
}

static void others_give_no_stack(void)
{
	struct abi_walked record = walked(DEPTH_MAX, ABI_END_COMPLETE);
	struct miss_record ret;
	struct bench b;

	bench_init(&b);
	/* Cut short. */
	for (size_t size = 0; size < ABI_WALKED_BYTES(DEPTH_MAX); size++)
		CHECK(!miss_record_read(b.walker, &b.pages, &record, size, false, &ret));
	/* Deeper than any stack that the tables have room for. */
	record.depth = DEPTH_MAX + 1;
	CHECK(!miss_record_read(b.walker, &b.pages, &record, sizeof(record), false,
				&ret));
	/* Of another kind. */
	record = walked(DEPTH_MAX, ABI_END_COMPLETE);
	record.kind = ABI_MISS_WALKED + 1;
	CHECK(!miss_record_read(b.walker, &b.pages, &record, sizeof(record), false,
				&ret));
	bench_deinit(&b);
}

int main(void)
{
	RUN(whole_stacks_are_read);
	RUN(incomplete_ones_are_counted);
	RUN(others_give_no_stack);
	return check_done();
}
