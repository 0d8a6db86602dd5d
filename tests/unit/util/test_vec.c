// SPDX-License-Identifier: Apache-2.0
#include <stdint.h>

#include "check.h"
#include "null_allocations.h"
#include "util/vec.h"

struct pair {
	int a;
	uint64_t b;
};

static void pushes_and_iterates(void)
{
	VEC(struct pair) pairs = {0};
	uint64_t sum = 0;
	int next = 0, in_order = 1;

	vec_foreach (it, &pairs)
		CHECK_FAIL("an empty vector has no element %d", it->a);
	for (int i = 0; i < 1000; i++)
		REQUIRE(vec_push(&pairs, (struct pair){.a = i, .b = 2 * (uint64_t)i}));
	CHECK_INT(pairs.len, 1000);
	CHECK(pairs.cap >= 1000);
	vec_foreach (it, &pairs) {
		in_order &= it->a == next++;
		sum += it->b;
	}
	CHECK_INT(next, 1000);
	CHECK(in_order);
	CHECK_INT(sum, 999000);
	vec_deinit(&pairs);
	CHECK(!pairs.data && !pairs.len && !pairs.cap);
	vec_deinit(&pairs);
}

static void reserve_keeps_content_and_place(void)
{
	VEC(int) ints = {0};

	REQUIRE(vec_push(&ints, 42));
	REQUIRE(vec_reserve(&ints, 5000));
	CHECK_INT(ints.len, 1);
	CHECK_INT(ints.data[0], 42);
	CHECK(ints.cap >= 5000);

	int *place = ints.data;

	for (int i = 1; i < 5000; i++)
		REQUIRE(vec_push(&ints, i));
	CHECK(ints.data == place);
	REQUIRE(vec_reserve(&ints, 1));
	CHECK_INT(ints.len, 5000);
	vec_deinit(&ints);
}

static void hopeless_reserve_changes_nothing(void)
{
	VEC(struct pair) pairs = {0};
	volatile size_t hopeless[] = {SIZE_MAX, SIZE_MAX / 2,
				      SIZE_MAX / sizeof(struct pair), SIZE_MAX / 64};

	REQUIRE(vec_push(&pairs, (struct pair){.a = 1, .b = 2}));

	struct pair *place = pairs.data;
	size_t cap = pairs.cap;

	for (size_t i = 0; i < sizeof(hopeless) / sizeof(*hopeless); i++)
		CHECK(!vec_reserve(&pairs, hopeless[i]));
	CHECK(pairs.data == place);
	CHECK_INT(pairs.len, 1);
	CHECK_INT(pairs.cap, cap);
	CHECK_INT(pairs.data[0].b, 2);
	vec_deinit(&pairs);
}

static void counts_up_to(void)
{
	VEC(struct pair) pairs = {0};

	CHECK_INT(vec_count_up_to(&pairs, a, 1), 0);
	for (int i = 0; i < 100; i++)
		REQUIRE(vec_push(&pairs, (struct pair){.a = i / 2 * 10}));
	for (int i = -1; i < 500; i++) {
		size_t want = 0;

		vec_foreach (pair, &pairs)
			want += pair->a <= i;
		CHECK_INT(vec_count_up_to(&pairs, a, i), want);
	}
	vec_deinit(&pairs);
}

int main(void)
{
	RUN(pushes_and_iterates);
	RUN(reserve_keeps_content_and_place);
	RUN(hopeless_reserve_changes_nothing);
	RUN(counts_up_to);
	return check_done();
}
