// SPDX-License-Identifier: Apache-2.0
#include <stdint.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "null_allocations.h"
#include "util/cleanup.h"
#include "util/hashmap.h"
#include "util/sanitized.h"

#define SEED UINT64_C(0x1234567890abcdef)

static void starts_empty(void)
{
	_cleanup_(hashmap_deinit) struct hashmap map;
	uint64_t value = 77;

	hashmap_init(&map, SEED);
	CHECK_INT(map.len, 0);
	CHECK(!hashmap_get(&map, 0, &value));
	CHECK(!hashmap_get(&map, 1, &value));
	CHECK_INT(value, 77);
}

static void puts_and_replaces(void)
{
	_cleanup_(hashmap_deinit) struct hashmap map;
	uint64_t value;

	hashmap_init(&map, SEED);
	REQUIRE(hashmap_put(&map, 5, 50));
	REQUIRE(hashmap_put(&map, UINT64_MAX, 60));
	REQUIRE(hashmap_put(&map, 5, 51));
	CHECK_INT(map.len, 2);
	CHECK(hashmap_get(&map, 5, &value) && value == 51);
	CHECK(hashmap_get(&map, UINT64_MAX, &value) && value == 60);
	CHECK(hashmap_get(&map, 5, NULL));
	CHECK(!hashmap_get(&map, 6, NULL));
}

static void zero_is_a_key(void)
{
	_cleanup_(hashmap_deinit) struct hashmap map;
	uint64_t value;

	hashmap_init(&map, SEED);
	REQUIRE(hashmap_put(&map, 0, 9));
	REQUIRE(hashmap_put(&map, 0, 10));
	CHECK_INT(map.len, 1);
	CHECK(hashmap_get(&map, 0, &value) && value == 10);

	REQUIRE(hashmap_put(&map, 3, 0));
	CHECK(hashmap_get(&map, 3, &value) && value == 0);
	CHECK_INT(map.len, 2);
}

static void check_range(uint64_t first, uint64_t step, uint64_t n)
{
	_cleanup_(hashmap_deinit) struct hashmap map;
	uint64_t wrong = 0;

	hashmap_init(&map, SEED);
	for (uint64_t i = 0; i < n; i++)
		REQUIRE(hashmap_put(&map, first + i * step, i));
	CHECK_INT(map.len, n);
	CHECK(map.len <= map.cap / 2 + 1);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t value;

		wrong += !hashmap_get(&map, first + i * step, &value) || value != i;
		wrong += hashmap_get(&map, first + i * step + 1, NULL) && step > 1;
	}
	CHECK_INT(wrong, 0);
}

static void holds_many(void)
{
	check_range(0, 1, 100000);
	check_range(UINT64_C(0x7f0000000010), 16, 100000);
	check_range(1, UINT64_C(1) << 40, 100000);
}

/* The longest run of used slots: the length of the worst lookup. */
static size_t longest_run(const struct hashmap *map)
{
	size_t run = 0, longest = 0;

	for (size_t i = 0; i < 2 * map->cap; i++) {
		run = map->slots[i & (map->cap - 1)].key ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	return longest;
}

/* Keys that have the same low, middle or high bits: like addresses, and like keys chosen
 * by an attacker who knows that the table size is a power of two. */
static void regular_keys_spread(void)
{
	for (unsigned shift = 0; shift <= 48; shift += 4) {
		_cleanup_(hashmap_deinit) struct hashmap map;

		hashmap_init(&map, SEED);
		for (uint64_t i = 1; i <= 30000; i++)
			REQUIRE(hashmap_put(&map, i << shift, i));
		if (longest_run(&map) > 200)
			CHECK_FAIL("keys << %u: a run of %zu", shift, longest_run(&map));
	}
}

/* Keys that differ only in their highest bits after the first step of the hash.
 * Multiplication never moves these bits down. Tested with every seed. */
static void chosen_keys_spread(void)
{
	for (unsigned bits = 8; bits <= 13; bits++) {
		_cleanup_(hashmap_deinit) struct hashmap map;

		hashmap_init(&map, SEED);
		REQUIRE(hashmap_reserve(&map, 50000));
		for (uint64_t i = 0; i < UINT64_C(1) << bits; i++) {
			uint64_t high = i << (64 - bits);

			REQUIRE(hashmap_put(&map, 99 ^ high ^ high >> 33, i));
		}
		if (longest_run(&map) > 30)
			CHECK_FAIL("%u bits: a run of %zu", bits, longest_run(&map));
	}
}

/* Keys that collide with one seed (found by trying) do not with another. */
static void seed_decides_who_collides(void)
{
	enum {
		WANTED = 400,
		BUCKETS = 1024
	};
	_cleanup_(hashmap_deinit) struct hashmap probe, same, other;
	uint64_t key = 0;

	hashmap_init(&probe, 1);
	hashmap_init(&same, 1);
	hashmap_init(&other, 2);
	REQUIRE(hashmap_reserve(&same, BUCKETS / 2));
	REQUIRE(hashmap_reserve(&other, BUCKETS / 2));
	REQUIRE(hashmap_reserve(&probe, BUCKETS / 2));
	REQUIRE(same.cap == BUCKETS);
	while (same.len < WANTED) {
		/* A single key in an empty table shows its home slot. */
		REQUIRE(hashmap_put(&probe, ++key, 0));

		struct hashmap_slot *slot = probe.slots;

		while (!slot->key)
			slot++;
		if (slot - probe.slots < 4) {
			REQUIRE(hashmap_put(&same, key, 0));
			REQUIRE(hashmap_put(&other, key, 0));
		}
		*slot = (struct hashmap_slot){0};
		probe.len = 0;
	}
	CHECK(longest_run(&same) >= WANTED);
	CHECK(longest_run(&other) < 100);
}

static void reserve_is_enough(void)
{
	_cleanup_(hashmap_deinit) struct hashmap map;

	hashmap_init(&map, SEED);
	REQUIRE(hashmap_reserve(&map, 1000));

	struct hashmap_slot *slots = map.slots;

	for (uint64_t i = 1; i <= 1000; i++)
		REQUIRE(hashmap_put(&map, i, i));
	CHECK(map.slots == slots);
	REQUIRE(hashmap_reserve(&map, 10));
	CHECK(map.slots == slots);
}

static void deinit_makes_it_usable_again(void)
{
	struct hashmap map;

	hashmap_init(&map, SEED);
	REQUIRE(hashmap_put(&map, 0, 1));
	REQUIRE(hashmap_put(&map, 1, 1));
	hashmap_deinit(&map);
	CHECK_INT(map.len, 0);
	CHECK(!hashmap_get(&map, 0, NULL));
	CHECK(!hashmap_get(&map, 1, NULL));
	CHECK(map.seed == SEED);
	REQUIRE(hashmap_put(&map, 1, 1));
	CHECK_INT(map.len, 1);
	hashmap_deinit(&map);
	hashmap_deinit(&map);
}

static void hopeless_reserve_changes_nothing(void)
{
	_cleanup_(hashmap_deinit) struct hashmap map;

	hashmap_init(&map, SEED);
	REQUIRE(hashmap_put(&map, 1, 10));
	CHECK(!hashmap_reserve(&map, SIZE_MAX));
	CHECK(!hashmap_reserve(&map, SIZE_MAX / 8));
	CHECK(!hashmap_reserve(&map, SIZE_MAX / 128));
	CHECK_INT(map.len, 1);
	CHECK(hashmap_get(&map, 1, NULL));
}

/* Memory runs out in a put: it fails, and the map is unchanged. */
static void put_reports_out_of_memory(void)
{
	_cleanup_(hashmap_deinit) struct hashmap map;
	struct rlimit before, tight;
	uint64_t key = 0, value, wrong = 0;
	unsigned long pages = 0;
	FILE *statm = fopen("/proc/self/statm", "re");

	REQUIRE(statm);
	REQUIRE(fscanf(statm, "%lu", &pages) == 1);
	fclose(statm);
	REQUIRE(!getrlimit(RLIMIT_AS, &before));
	tight = before;
	tight.rlim_cur = pages * (rlim_t)sysconf(_SC_PAGESIZE) + (8 << 20);
	REQUIRE(!setrlimit(RLIMIT_AS, &tight));
	hashmap_init(&map, SEED);
	while (key < 10000000 && hashmap_put(&map, key + 1, key))
		key++;
	REQUIRE(!setrlimit(RLIMIT_AS, &before));

	CHECK(key > 1000 && key < 10000000);
	CHECK_INT(map.len, key);
	CHECK(!hashmap_get(&map, key + 1, NULL));
	for (uint64_t i = 0; i < key; i++)
		wrong += !hashmap_get(&map, i + 1, &value) || value != i;
	CHECK_INT(wrong, 0);
	CHECK(hashmap_put(&map, key + 1, 0));
}

static void seeds_differ(void)
{
	uint64_t one = hashmap_seed();

	CHECK(one != hashmap_seed());
}

int main(void)
{
	RUN(seeds_differ);
	RUN(starts_empty);
	RUN(puts_and_replaces);
	RUN(zero_is_a_key);
	RUN(holds_many);
	RUN(regular_keys_spread);
	RUN(chosen_keys_spread);
	RUN(seed_decides_who_collides);
	RUN(reserve_is_enough);
	RUN(deinit_makes_it_usable_again);
	RUN(hopeless_reserve_changes_nothing);
	if (IS_SANITIZED)
		CHECK_LEAVE_OUT_PART("put_reports_out_of_memory: a sanitizer ends the "
				     "program if mmap fails");
	else
		RUN(put_reports_out_of_memory);
	return check_done();
}
