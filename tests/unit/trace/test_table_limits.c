// SPDX-License-Identifier: Apache-2.0
#include "trace/table_limits.h"

#include "abi.h"
#include "abi_walk.h"
#include "check.h"
#include "compile/source_sizes.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

/* Kernel memory of the tables when they are full: all generations of blocks that are
 * needed if half of the slots are used, and all parts of the tables of stacks. */
static uint64_t memory_of(struct table_limits limits)
{
	const struct trace_config config = {.sampling.every = 1,
					    .unwind_memory_bytes = MIB};
	const struct source_run run = {
		.config = &config,
		.max_stacks = limits.stacks,
		.max_allocations = limits.blocks,
		.stack_depth = 127,
	};
	struct source_sizes z;
	uint64_t bytes;

	source_sizes_compute(&run, &z);
	bytes = (uint64_t)ABI_LIVE_BEFORE(z.live_buckets, z.live_generations) *
		sizeof(struct abi_live_bucket);
	bytes += (uint64_t)z.max_stacks * sizeof(struct abi_stack_head);
	bytes += (uint64_t)z.stack_pcs_blocks * ABI_PCS_BLOCK_BYTES(z.stack_depth);
	for (int i = 0; i < ABI_INDEX_PARTS; i++)
		bytes += (uint64_t)z.stack_buckets[i] * sizeof(struct abi_stack_bucket);
	return bytes;
}

static void defaults_are_high(void)
{
	struct table_limits limits = table_limits_of(4 * GIB, false);

	CHECK_INT(limits.blocks, 16 << 20);
	CHECK_INT(limits.stacks, 1 << 20);
	CHECK(memory_of(limits) <= 4 * GIB);
	/* Some tables have an element for each possible stack. */
	CHECK_INT(table_limits_of(4 * GIB, true).stacks, 256 << 10);
}

static void full_tables_fit_the_memory(void)
{
	/* 16 MiB is the least that --table-memory takes. */
	for (uint64_t memory = 16 * MIB; memory <= GIB; memory += 7 * MIB) {
		struct table_limits limits = table_limits_of(memory, false);

		if (memory_of(limits) > memory)
			CHECK_FAIL("%llu MiB become %llu",
				   (unsigned long long)(memory / MIB),
				   (unsigned long long)(memory_of(limits) / MIB));
		CHECK(memory_of(limits) >= memory / 3);
	}
	CHECK_INT(table_limits_of(0, false).blocks, 1024);
	CHECK_INT(table_limits_of(0, false).stacks, 64);
}

/* A memory balloon must not change the probes' code. */
static void a_little_memory_changes_nothing(void)
{
	struct table_limits one = table_limits_of(1010 * MIB / 8, false);
	struct table_limits other = table_limits_of(1000 * MIB / 8, false);

	CHECK(one.blocks == other.blocks && one.stacks == other.stacks);
}

static void the_user_chooses(void)
{
	struct trace_config config = {.table_memory_bytes = 64 * MIB};
	struct table_limits limits = table_limits_choose(&config, false, false);

	CHECK_INT(limits.blocks, table_limits_of(64 * MIB, false).blocks);
	CHECK_INT(limits.stacks, table_limits_of(64 * MIB, false).stacks);
	config.max_stacks = 100;
	config.max_allocations = 5000;
	limits = table_limits_choose(&config, false, false);
	CHECK_INT(limits.blocks, 5000);
	CHECK_INT(limits.stacks, 100);
	limits = table_limits_choose(&config, true, false);
	CHECK_INT(limits.blocks, 5000);
	CHECK_INT(limits.stacks, 100);
	/* A share of this machine's memory. */
	config = (struct trace_config){.max_stacks = 100};
	limits = table_limits_choose(&config, false, false);
	CHECK(limits.blocks > 10000 && limits.blocks <= 16 << 20);
	CHECK_INT(table_limits_choose(&config, true, false).blocks, 1 << 20);
}

int main(void)
{
	RUN(defaults_are_high);
	RUN(full_tables_fit_the_memory);
	RUN(a_little_memory_changes_nothing);
	RUN(the_user_chooses);
	return check_done();
}
