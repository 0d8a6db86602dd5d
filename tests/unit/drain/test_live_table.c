// SPDX-License-Identifier: Apache-2.0
/* Two processes with one table of live blocks: one enlarges it, the other one reads. */
#include "drain/live_table.h"

#include <errno.h>
#include <unistd.h>

#include <linux/bpf.h>

#include "check.h"
#include "unit/bpf/create_map.h"

#define BUCKETS     4
#define GENERATIONS 3

struct shared {
	int part, outer;
	struct abi_control control;
	struct live_table grower, reader;
};

static void shared_init(struct shared *s)
{
	const struct source_sizes sizes = {.live_buckets = BUCKETS,
					   .live_generations = GENERATIONS};

	*s = (struct shared){.part = -1};
	s->part = create_array(sizeof(struct abi_live_bucket), BUCKETS, ABI_PART_FLAG);
	s->outer = create_array_of_maps(s->part, GENERATIONS);
	REQUIRE(!live_table_open(s->outer, s->part, &sizes, &s->control, &s->grower));
	s->reader = s->grower;
}

static void shared_deinit(struct shared *s)
{
	live_table_close(&s->grower);
	live_table_close(&s->reader);
	close(s->outer);
	close(s->part);
}

static bool count_buckets(const void *elements, uint32_t first, uint32_t count, void *arg)
{
	uint32_t *next = arg;

	(void)elements;
	CHECK_INT(first, *next);
	*next += count;
	return true;
}

static void the_reader_opens_what_was_added(void)
{
	struct shared s;

	shared_init(&s);
	for (uint32_t count = 1; count <= GENERATIONS; count++) {
		uint32_t buckets = 0;

		CHECK_INT(live_table_count(&s.reader), count);
		CHECK(live_table_is_whole(&s.reader));
		REQUIRE(!live_table_walk(&s.reader, count, count_buckets, &buckets));
		CHECK_INT(buckets, live_table_buckets(&s.reader, count));
		if (count < GENERATIONS)
			REQUIRE(!live_table_grow(&s.grower));
	}
	shared_deinit(&s);
}

static bool find_mark(const void *elements, uint32_t first, uint32_t count, void *arg)
{
	const struct abi_live_bucket *buckets = elements;
	uint32_t *marks = arg;

	(void)first;
	for (uint32_t i = 0; i < count; i++)
		*marks += buckets[i].key[0] == 1;
	return true;
}

static bool set_mark(const void *elements, uint32_t first, uint32_t count, void *arg)
{
	/* Writable: see live_table_walk(). */
	struct abi_live_bucket *buckets = (void *)(uintptr_t)elements;

	(void)first;
	(void)arg;
	buckets[count - 1].key[0] = 1;
	return true;
}

/* Walks that come often find the same buckets, and what has changed in them since. */
static void it_stays_mapped(void)
{
	struct shared s;

	shared_init(&s);
	for (int i = 0; i < 6; i++) {
		uint32_t buckets = 0, marks = 0;

		REQUIRE(!live_table_walk(&s.reader, 1, count_buckets, &buckets));
		CHECK_INT(buckets, live_table_buckets(&s.reader, 1));
		CHECK_INT(s.reader.first != NULL, i >= 3);
		if (i == 4)
			REQUIRE(!live_table_walk(&s.grower, 1, set_mark, NULL));
		REQUIRE(!live_table_walk(&s.reader, 1, find_mark, &marks));
		CHECK_INT(marks, i >= 4);
		/* As if a second had passed. */
		s.reader.walked_ns -= 1000000000;
	}
	uint32_t marks = 0;

	live_table_rest(&s.reader);
	CHECK(!s.reader.first);
	for (int i = 0; i < 5; i++) {
		REQUIRE(!live_table_walk(&s.reader, 1, find_mark, &marks));
		s.reader.walked_ns -= 1000000000;
	}
	CHECK(s.reader.first);
	/* An hour later it is unmapped, too. */
	marks = 0;
	s.reader.walked_ns -= UINT64_C(3600000000000);
	REQUIRE(!live_table_walk(&s.reader, 1, find_mark, &marks));
	CHECK_INT(marks, 1);
	CHECK(!s.reader.first);
	shared_deinit(&s);
}

/* A reading without these blocks must not pass for a whole one. */
static void the_reader_may_not_open_it(void)
{
	struct shared s;

	shared_init(&s);
	REQUIRE(!live_table_grow(&s.grower));
	s.reader.outer = -1;
	CHECK_INT(live_table_count(&s.reader), 1);
	CHECK(!live_table_is_whole(&s.reader));
	CHECK(live_table_is_whole(&s.grower));
	shared_deinit(&s);
}

static void it_has_a_largest_size(void)
{
	struct error *err;
	struct shared s;

	shared_init(&s);
	for (int i = 1; i < GENERATIONS; i++) {
		s.control.live_wanted = (uint64_t)i;
		CHECK(live_table_wants_more(&s.grower));
		REQUIRE(!live_table_grow(&s.grower));
		CHECK(!live_table_wants_more(&s.grower));
	}
	err = live_table_grow(&s.grower);
	CHECK(err);
	error_destroy(err);
	CHECK_INT(live_table_count(&s.grower), GENERATIONS);
	shared_deinit(&s);
}

int main(void)
{
	RUN(the_reader_opens_what_was_added);
	RUN(it_stays_mapped);
	RUN(the_reader_may_not_open_it);
	RUN(it_has_a_largest_size);
	return check_done();
}
