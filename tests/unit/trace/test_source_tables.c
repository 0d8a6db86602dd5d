// SPDX-License-Identifier: Apache-2.0
/* The tables of the probes: they have the room that is promised, and what finds a place
 * in them agrees with memtrace. */
#include "check.h"

#include "abi.h"
#include "abi_walk.h"
#include "compile/source.h"
#include "snapshot/sampling.h"
#include "traffic_record.h"
#include "unit/trace/source_built.h"

/* The probes and the estimates must use the same size classes. */
static void sample_classes_agree(void)
{
	REQUIRE(ABI_SAMPLE_CLASSES == SAMPLING_CLASSES);
	for (uint64_t size = 0; size < 1 << 20; size++)
		REQUIRE(abi_sample_class(size) == sampling_class(size));
	for (unsigned shift = 0; shift < 64; shift++)
		for (int more = -1; more <= 1; more++) {
			uint64_t size = (UINT64_C(1) << shift) + (uint64_t)more;

			REQUIRE(abi_sample_class(size) == sampling_class(size));
		}
}

/* Buckets in the last part of the index of stacks. */
static uint32_t last_part(const struct source_sizes *sizes)
{
	return sizes->stack_buckets[source_index_parts(sizes, sizes->max_stacks) - 1];
}

/* The index grows by one part after the other. The last part is for all stacks. */
static void the_index_has_parts(void)
{
	struct source_run run = defaults();
	struct source_sizes z;

	run.max_stacks = 1 << 20;
	source_sizes_compute(&run, &z);
	CHECK_INT(source_index_parts(&z, 0), 1);
	CHECK_INT(source_index_parts(&z, 4095), 1);
	CHECK_INT(source_index_parts(&z, 4096), 2);
	CHECK_INT(source_index_parts(&z, 131072), 2);
	CHECK_INT(source_index_parts(&z, 131073), 3);
	CHECK_INT(source_index_parts(&z, UINT64_MAX), 3);
	CHECK_INT(last_part(&z), (1 << 19) + 1);

	run.max_stacks = 64;
	source_sizes_compute(&run, &z);
	CHECK_INT(source_index_parts(&z, UINT64_MAX), 1);
	run.max_stacks = 65536;
	source_sizes_compute(&run, &z);
	CHECK_INT(source_index_parts(&z, UINT64_MAX), 2);
}

static void tables_hold_what_is_promised(void)
{
	static const uint64_t sizes[] = {1024, 1 << 20, 1 << 30};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct source_run run = defaults();
		struct source_sizes z;

		run.max_allocations = sizes[i];
		source_sizes_compute(&run, &z);

		uint64_t slots =
			(uint64_t)ABI_LIVE_BEFORE(z.live_buckets, z.live_generations) *
			ABI_LIVE_WAYS;

		CHECK(slots >= sizes[i] * 10 / 7);
		/* At most 48 bytes of kernel memory for each block if half of the slots
		 * are used. */
		CHECK(slots * 24 <= sizes[i] * 48);
		/* However many there may be, the first generation is small. */
		CHECK(z.live_generations <= ABI_LIVE_GENERATIONS &&
		      z.live_buckets <= 32768);
		CHECK_INT(z.stack_depth, 64);
		/* Room for the requested number of stacks of the usual depth. */
		CHECK((uint64_t)z.stack_pcs_blocks * ABI_PCS_BLOCK >=
		      run.max_stacks * 16);
		CHECK((uint64_t)last_part(&z) * ABI_STACK_WAYS >= 4 * run.max_stacks);
		CHECK(z.stack_buckets[0] < last_part(&z));
	}
}

/* Few stacks are few, however deep. Of many stacks most are not deep. Without atomics
 * each stack has its own room. */
static void return_addresses_have_room(void)
{
	static const struct {
		uint64_t stacks;
		unsigned depth;
		bool no_atomics;
		uint64_t words;
	} cases[] = {
		{64, 127, false, 64 * 127},
		{4096, 127, false, 4096 * 127},
		{65536, 127, false, 65536 * 16},
		{65536, 127, true, 65536 * 127},
		{65536, 8, false, 65536 * 8},
		{1 << 24, 127, false, UINT64_C(16) << 24},
		{1 << 24, 127, true, UINT64_C(127) << 24},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct source_run run = defaults();
		struct source_sizes z;

		run.max_stacks = cases[i].stacks;
		run.stack_depth = cases[i].depth;
		run.no_atomics = cases[i].no_atomics;
		source_sizes_compute(&run, &z);
		CHECK_INT(z.stack_pcs_blocks,
			  (cases[i].words + ABI_PCS_BLOCK - 1) / ABI_PCS_BLOCK);
		/* The number of a word must fit 32 bits. */
		CHECK((uint64_t)z.stack_pcs_blocks * ABI_PCS_BLOCK <= UINT32_MAX);
	}
}

static void threads_have_room(void)
{
	struct source_run run = defaults();
	struct meanings meanings = {0};
	struct source *source;
	uint32_t slots;

	run.traffic = true;
	config.max_threads = 1000;
	config.temporary_threshold = 3;
	source = build(&run, &meanings);
	CHECK(has_flag(source, "-DTHREAD_SLOTS"));
	CHECK(has_flag(source, "-DTEMPORARY_EVENTS=4"));
	slots = source->sizes.thread_slots;
	CHECK(slots >= 4000);
	CHECK_INT(slots & (slots - 1), 0);
	CHECK_INT(source->sizes.thread_record_bytes, 96 + 4 * 8);
	source_destroy(source);
}

/* The promised number of threads must find room in their ways. */
static void thread_ways_suffice(void)
{
	enum {
		SLOTS = 65536,
		THREADS = SLOTS / 4
	};
	static bool taken[SLOTS];
	unsigned refused = 0;

	for (uint32_t tid = 1000; tid < 1000 + THREADS; tid++) {
		uint64_t key = ABI_THREAD_KEY(tid % 7, tid);
		uint32_t i = 0;

		while (i < ABI_THREAD_WAYS && taken[ABI_THREAD_AT(key, i, SLOTS)])
			i++;
		if (i == ABI_THREAD_WAYS)
			refused++;
		else
			taken[ABI_THREAD_AT(key, i, SLOTS)] = true;
	}
	CHECK_INT(refused, 0);
}

/* Both hashes must spread keys like malloc's addresses: runs of multiples of 16. */
static void live_hash_spreads(void)
{
	enum {
		BUCKETS = 1024,
		KEYS = BUCKETS * 8
	};
	static uint16_t load[BUCKETS];

	for (int second = 0; second < 2; second++) {
		unsigned fullest = 0;

		memset(load, 0, sizeof(load));
		for (uint64_t i = 0; i < KEYS; i++) {
			uint32_t at = abi_live_hash((0x55d0c0de2a0 + i * 16) >> 3,
						    BUCKETS, second);

			REQUIRE(at < BUCKETS);
			if (++load[at] > fullest)
				fullest = load[at];
		}
		/* 8 on average. A Poisson tail of 30 has a chance of 1e-9 in a bucket. */
		CHECK(fullest < 30);
	}
}

/* Each room has its own numbers. Numbers that are kept together are consecutive. */
static void numbers_of_walks(void)
{
	enum {
		ROOMS = 6,
		EACH = 3 * ABI_MISS_NUMBERS
	};
	static unsigned char seen[ROOMS * EACH];
	uint64_t last = 0;

	for (uint64_t room = 0; room < ROOMS; room++) {
		for (uint64_t n = 0; n < EACH; n++) {
			uint64_t number = ABI_MISS_NUMBER(n, room, ROOMS);

			REQUIRE(number < ROOMS * EACH);
			CHECK_INT(seen[number]++, 0);
			CHECK(n % ABI_MISS_NUMBERS == 0 || number == last + 1);
			last = number;
		}
	}
}

int main(void)
{
	RUN(sample_classes_agree);
	RUN(tables_hold_what_is_promised);
	RUN(the_index_has_parts);
	RUN(return_addresses_have_room);
	RUN(threads_have_room);
	RUN(thread_ways_suffice);
	RUN(live_hash_spreads);
	RUN(numbers_of_walks);
	return check_done();
}
