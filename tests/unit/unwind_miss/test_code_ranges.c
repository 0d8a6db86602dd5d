// SPDX-License-Identifier: Apache-2.0
/* A few ranges that cover all code that was added, however much it is. */
#include "unwind_miss/code_ranges.h"

#include <stdbool.h>
#include <stdlib.h>

#include "check.h"

static bool has(const struct abi_moves *moves, uint64_t address)
{
	for (size_t i = 0; i < ABI_CODE_RANGES; i++)
		if (address >= moves->range[i].start && address < moves->range[i].end)
			return true;
	return false;
}

static unsigned used(const struct abi_moves *moves)
{
	unsigned n = 0;

	for (size_t i = 0; i < ABI_CODE_RANGES; i++)
		n += moves->range[i].end != 0;
	return n;
}

static void exact_while_there_are_few(void)
{
	struct abi_moves moves = {0};

	CHECK(!has(&moves, 0));
	for (uint64_t i = ABI_CODE_RANGES; i > 0; i--)
		code_ranges_add(&moves, i * 0x10000, i * 0x10000 + 0x1000);
	CHECK_INT(used(&moves), ABI_CODE_RANGES);
	for (uint64_t i = 1; i <= ABI_CODE_RANGES; i++) {
		CHECK(has(&moves, i * 0x10000) && has(&moves, i * 0x10000 + 0xfff));
		CHECK(!has(&moves, i * 0x10000 - 1) &&
		      !has(&moves, i * 0x10000 + 0x1000));
	}
	/* Code that is already covered needs no new range. */
	CHECK(code_ranges_add(&moves, 0x10000, 0x10800));
	CHECK(code_ranges_add(&moves, 0x10800, 0x11000));
	CHECK(!code_ranges_add(&moves, 0x11000, 0x12000));
	CHECK(!code_ranges_add(&moves, 0xf000, 0x10000));
	CHECK(code_ranges_add(&moves, 0xf000, 0x12000));
	CHECK(!code_ranges_add(&moves, 0x11fff, 0x12001));
	code_ranges_clear(&moves);
	for (uint64_t i = ABI_CODE_RANGES; i > 0; i--)
		CHECK(!code_ranges_add(&moves, i * 0x10000, i * 0x10000 + 0x1000));
	code_ranges_add(&moves, 0x11000, 0x12000);
	code_ranges_add(&moves, 0xf000, 0x10000);
	CHECK_INT(used(&moves), ABI_CODE_RANGES);
	CHECK(has(&moves, 0xf000) && has(&moves, 0x11fff));
	CHECK(!has(&moves, 0xefff) && !has(&moves, 0x12000));
	code_ranges_clear(&moves);
	CHECK_INT(used(&moves), 0);
	CHECK(!has(&moves, 0x10000) && !has(&moves, 0));
}

static void nearest_together(void)
{
	struct abi_moves moves = {0};

	for (uint64_t i = 1; i <= ABI_CODE_RANGES; i++)
		code_ranges_add(&moves, i * 0x10000, i * 0x10000 + 0x1000);
	code_ranges_add(&moves, 0x53000, 0x54000);
	/* Two of the ranges have been merged. */
	CHECK(has(&moves, 0x53000) && !has(&moves, 0x52fff) && !has(&moves, 0x54000));
	CHECK_INT(used(&moves), ABI_CODE_RANGES);
	code_ranges_add(&moves, 0x55000, 0x56000);
	/* The new range and the last one were nearest to each other. */
	CHECK(has(&moves, 0x51000) && has(&moves, 0x52fff));
	CHECK(has(&moves, 0x55fff) && !has(&moves, 0x54fff));
}

static void nothing_is_lost(void)
{
	struct abi_moves moves = {0};
	uint64_t starts[500];

	srand(1);
	for (int i = 0; i < 500; i++) {
		starts[i] = ((uint64_t)rand() << 12) + 0x1000;
		code_ranges_add(&moves, starts[i], starts[i] + 0x1000);
		for (int k = 0; k <= i; k++)
			CHECK(has(&moves, starts[k]) && has(&moves, starts[k] + 0xfff));
	}
	CHECK_INT(used(&moves), ABI_CODE_RANGES);
}

int main(void)
{
	RUN(exact_while_there_are_few);
	RUN(nearest_together);
	RUN(nothing_is_lost);
	return check_done();
}
