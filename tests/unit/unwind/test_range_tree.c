// SPDX-License-Identifier: Apache-2.0
/* The tree of ranges against a list, and the number of ranges that a search looks at. */
#include "check.h"

#include "unwind/range_tree.h"

#define COUNT 2000

struct list {
	struct range ranges[COUNT];
	size_t count;
};

static uint64_t random_state = 1;

static uint64_t random_below(uint64_t limit)
{
	random_state = random_state * UINT64_C(6364136223846793005) + 1;
	return (random_state >> 33) % limit;
}

static void list_range(const struct range *range, void *arg)
{
	struct list *list = arg;

	REQUIRE(list->count < COUNT);
	list->ranges[list->count++] = *range;
}

static bool matches(const struct range *r, const struct range_query *q)
{
	return r->start <= q->start_max && r->end > q->end_above &&
	       r->since_ns >= q->from_ns && r->since_ns <= q->upto_ns &&
	       r->until_ns > q->until_above_ns;
}

static bool keep(struct range *range, void *arg)
{
	const uint64_t *kind = arg;

	if (*kind == 1 && range->number % 3 == 0)
		range->until_ns /= 2;
	return *kind != 2 || range->number % 4;
}

static bool keep_nothing(struct range *range, void *arg)
{
	(void)range;
	(void)arg;
	return false;
}

/* The tree finds the same ranges as a list, in the same order. */
static void compare(const struct range_tree *tree, struct list *list)
{
	list->count = 0;
	range_tree_visit(tree, list_range, list);
	REQUIRE(list->count == tree->count);
	for (size_t i = 1; i < list->count; i++)
		CHECK(range_is_before(&list->ranges[i - 1], &list->ranges[i]));
	for (int i = 0; i < 300; i++) {
		const struct range_query query = {
			.start_max = random_below(1200),
			.end_above = random_below(1200),
			.from_ns = random_below(100),
			.upto_ns = random_below(200),
			.until_above_ns = random_below(200),
		};
		const struct range *found = NULL;
		unsigned left = UINT32_MAX;

		for (size_t k = list->count; k-- > 0;) {
			if (!matches(&list->ranges[k], &query))
				continue;
			found = range_tree_before(tree, found, &query, &left);
			REQUIRE(found && found->number == list->ranges[k].number);
			CHECK_INT(found->until_ns, list->ranges[k].until_ns);
		}
		CHECK(!range_tree_before(tree, found, &query, &left) || !found);
	}
}

static void like_a_list(void)
{
	static struct list list;
	struct range_tree tree = {0};

	for (int i = 0; i < COUNT; i++) {
		uint64_t start = random_below(1000), since_ns = random_below(100);

		REQUIRE(range_tree_insert(
			&tree, (struct range){.start = start,
					      .end = start + 1 + random_below(100),
					      .since_ns = since_ns,
					      .until_ns = since_ns + random_below(100)}));
	}
	for (uint64_t kind = 0; kind < 3; kind++) {
		range_tree_filter(&tree, keep, &kind);
		compare(&tree, &list);
	}
	CHECK_INT(tree.count, COUNT - COUNT / 4);
	range_tree_filter(&tree, keep_nothing, NULL);
	CHECK(!tree.root && !tree.count);
}

/* Looks at one address above which there are a huge range and `count` others: those at
 * that address, if is_at_once, and otherwise those elsewhere. */
static unsigned looks_of(size_t count, bool is_one_place)
{
	const struct range huge = {.end = UINT64_C(1) << 40, .until_ns = UINT64_MAX};
	struct range_query query = {.start_max = 1000, .end_above = 1000};
	struct range_tree tree = {0};
	unsigned left = UINT32_MAX;

	REQUIRE(range_tree_insert(&tree, huge));
	for (size_t i = 1; i <= count; i++) {
		uint64_t start = is_one_place ? 1000 : 1000 * i;

		REQUIRE(range_tree_insert(&tree, (struct range){.start = start,
								.end = start + 1,
								.since_ns = i,
								.until_ns = UINT64_MAX}));
	}
	/* Find the latest range at the address, then check that no later one is found. */
	query.upto_ns = query.until_above_ns = UINT64_MAX - 1;
	const struct range *found = range_tree_before(&tree, NULL, &query, &left);

	REQUIRE(found && found->start == 1000);
	query.from_ns = found->since_ns + 1;
	CHECK(!range_tree_before(&tree, found, &query, &left));
	left = UINT32_MAX - left;
	range_tree_filter(&tree, keep_nothing, NULL);
	return left;
}

static void few_looks(void)
{
	CHECK(looks_of(500, false) < 100);
	CHECK(looks_of(30000, false) < 200);
	CHECK(looks_of(500, true) < 100);
	CHECK(looks_of(30000, true) < 200);
}

/* A search that may not look at enough ranges ends. */
static void at_the_limit(void)
{
	const struct range_query query = {.upto_ns = 1, .start_max = UINT64_MAX};
	struct range_tree tree = {0};
	unsigned left = 0;

	REQUIRE(range_tree_insert(&tree, (struct range){.end = 1, .until_ns = 1}));
	CHECK(!range_tree_before(&tree, NULL, &query, &left));
	CHECK_INT(left, 0);
	left = 2;
	CHECK(range_tree_before(&tree, NULL, &query, &left) != NULL);
	CHECK_INT(left, 1);
	range_tree_filter(&tree, keep_nothing, NULL);
}

int main(void)
{
	RUN(like_a_list);
	RUN(few_looks);
	RUN(at_the_limit);
	return check_done();
}
