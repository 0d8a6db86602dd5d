// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include <stdbool.h>

#include "abi.h"
#include "abi_walk.h"
#include "compile/source.h"

static uint64_t seed;

static struct abi_stack_hash hash_of(uint64_t family, uint32_t allocator, uint64_t leaf)
{
	struct abi_stack_hash h;

	abi_stack_hash_begin(&h, family, allocator, seed);
	abi_stack_hash_step(&h, leaf);
	abi_stack_hash_step(&h, 0x5631d467e2a2);
	abi_stack_hash_end(&h, 0, 0);
	return h;
}

/* Forked processes have the same code addresses. Whatever the distance between two calls
 * in a function and between two families, their stacks must be different. */
static void families_differ(void)
{
	const uint64_t leaf = 0x5631d4672010;
	struct abi_stack_hash first = hash_of(0, 0, leaf);

	for (uint32_t family = 0; family < 4096; family++) {
		for (uint64_t bytes = family ? 0 : 1; bytes < 4; bytes++) {
			uint64_t other = leaf + family * 256 + bytes;
			struct abi_stack_hash h = hash_of(family, 0, other);

			CHECK(h.hash != first.hash && h.check != first.check);
			h = hash_of(family, 0, leaf - family * 256 - bytes);
			CHECK(h.hash != first.hash && h.check != first.check);
		}
	}
}

static void allocators_differ(void)
{
	const uint64_t leaf = 0x5631d4672000;
	struct abi_stack_hash first = hash_of(7, 0, leaf);

	for (uint32_t allocator = 1; allocator < 256; allocator++) {
		struct abi_stack_hash h = hash_of(7, allocator, leaf + allocator);

		CHECK(h.hash != first.hash && h.check != first.check);
		h = hash_of(7, allocator, leaf - allocator);
		CHECK(h.hash != first.hash && h.check != first.check);
	}
}

/* A target cannot compute a hash: it changes with each bit of the seed. */
static void seeds_differ(void)
{
	struct abi_stack_hash first = hash_of(7, 1, 0x5631d4672010), h;

	for (unsigned bit = 0; bit < 64; bit++) {
		seed = UINT64_C(1) << bit;
		h = hash_of(7, 1, 0x5631d4672010);
		CHECK(h.hash != first.hash && h.check != first.check);
		CHECK(ABI_STACK_TAG(h.hash) != ABI_STACK_TAG(first.hash));
	}
	seed = 0;
}

/* --- as many stacks as the table promises ----------------------------------------- */

static bool put(struct abi_stack_bucket *bucket)
{
	for (int i = 0; i < ABI_STACK_WAYS; i++) {
		if (!bucket->word[i]) {
			bucket->word[i] = 1;
			return true;
		}
	}
	return false;
}

/* All stacks must find a bucket, searched as the probes do. */
static void all_find_room(void)
{
	const struct trace_config config = {.sampling.every = 1};
	const struct source_run run = {
		.config = &config,
		.max_stacks = 65536,
		.max_allocations = 1000,
		.stack_depth = 127,
	};
	struct source_sizes sizes;
	struct abi_stack_bucket *index;
	unsigned refused = 0;

	source_sizes_compute(&run, &sizes);
	index = calloc(sizes.stack_buckets[1], sizeof(*index));
	REQUIRE(index);
	for (uint64_t i = 0; i < run.max_stacks; i++) {
		uint64_t hash = hash_of((uint32_t)(i % 7), 1, 0x401000 + i * 5).hash;

		refused += !put(&index[abi_live_hash(hash, sizes.stack_buckets[1], 0)]) &&
			   !put(&index[abi_live_hash(hash, sizes.stack_buckets[1], 1)]);
	}
	CHECK_INT(refused, 0);
	free(index);
}

int main(void)
{
	RUN(families_differ);
	RUN(allocators_differ);
	RUN(seeds_differ);
	RUN(all_find_room);
	return check_done();
}
