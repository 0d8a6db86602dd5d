// SPDX-License-Identifier: Apache-2.0
#include "trace/table_limits.h"

#include "check.h"

#define GIB (UINT64_C(1) << 30)

/* What the tables take if they are full, with half of the slots of blocks in use. */
static uint64_t memory_of(struct table_limits limits)
{
	return limits.blocks * 48 + limits.stacks * (24 + 32 + 128);
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

static void memory_limits_both(void)
{
	for (uint64_t memory = 1 << 20; memory <= GIB / 2; memory *= 2) {
		struct table_limits limits = table_limits_of(memory, false);

		CHECK(memory_of(limits) <= memory);
		CHECK(memory_of(limits) >= memory * 9 / 10);
		CHECK(limits.stacks * 184 >= memory / 5);
	}
	CHECK_INT(table_limits_of(0, false).blocks, 1024);
	CHECK_INT(table_limits_of(0, false).stacks, 64);
}

static void the_user_chooses(void)
{
	struct trace_config config = {.table_memory_bytes = 64 << 20};
	struct table_limits limits = table_limits_choose(&config, false, false);

	CHECK_INT(limits.blocks, (48 << 20) / 48);
	CHECK_INT(limits.stacks, (16 << 20) / 184);
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
	RUN(memory_limits_both);
	RUN(the_user_chooses);
	return check_done();
}
