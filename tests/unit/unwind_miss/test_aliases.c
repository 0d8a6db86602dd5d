// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include "abi.h"
#include "abi_walk.h"
#include "unwind_miss/aliases.h"

static uint32_t stack_of(struct aliases *a, uint64_t number)
{
	return aliases_get(a, (uint32_t)number & ~ABI_MISS_STACK_BIT);
}

static void finds(void)
{
	struct aliases a = {0};

	CHECK_INT(stack_of(&a, 0), ABI_NO_STACK);
	for (uint64_t i = 0; i < 5000; i += 2)
		CHECK(aliases_put(&a, i, (uint32_t)i * 3));
	for (uint64_t i = 0; i < 5000; i++)
		CHECK_INT(stack_of(&a, i), i % 2 ? ABI_NO_STACK : i * 3);
	CHECK_INT(stack_of(&a, 1 << 20), ABI_NO_STACK);
	aliases_deinit(&a);
}

/* A long run: one block in 5000 stays live, the others are freed. */
static void removes_oldest(void)
{
	struct aliases a = {0};
	size_t most = 0;
	uint64_t n = 0;

	for (int snapshot = 0; snapshot < 200; snapshot++) {
		for (int i = 0; i < 5000; i++, n++)
			CHECK(aliases_put(&a, n, (uint32_t)n));
		for (uint64_t live = 0; live < n; live += 5000)
			CHECK_INT(stack_of(&a, live), live);
		aliases_sweep(&a);
		most = a.chunk_count > most ? a.chunk_count : most;
	}
	/* At most one chunk of 1024 for each of the 200 snapshots, and the chunks of the
	 * last three snapshots. */
	CHECK(most <= 200 + 3 * 5000 / 1024 + 3);
	CHECK_INT(stack_of(&a, n - 1), n - 1);
	/* Of the fourth snapshot from the end, unused entries have been removed. */
	CHECK_INT(stack_of(&a, n - 3 * 5000 - 1100), ABI_NO_STACK);
	aliases_deinit(&a);
}

/* An hour between two reports: memory is bounded, because entries are swept when they are
 * many. */
static void many_between_reports(void)
{
	struct aliases a = {0};
	size_t most = 0, sweeps = 0;

	for (uint64_t n = 0; n < 20000000; n++) {
		CHECK(aliases_put(&a, n, (uint32_t)n));
		most = a.chunk_count > most ? a.chunk_count : most;
		if (n % 10000 || !aliases_are_many(&a))
			continue;
		/* Ten old blocks are live. */
		for (uint64_t live = 0; live < 10000000 && live <= n; live += 1000000)
			CHECK_INT(stack_of(&a, live), live);
		aliases_sweep(&a);
		sweeps++;
	}
	/* Chunks of 4 KiB. Without sweeps there would be 20,000. */
	CHECK(most < 1100);
	CHECK(sweeps > 20);
	CHECK(sweeps < 100);
	for (uint64_t live = 0; live < 10000000; live += 1000000)
		CHECK_INT(stack_of(&a, live), live);
	aliases_deinit(&a);
}

/* If all entries are in use, they must not be swept again and again. */
static void many_in_use(void)
{
	struct aliases a = {0};
	size_t sweeps = 0;

	for (uint64_t n = 0; n < 8000000; n++) {
		CHECK(aliases_put(&a, n, (uint32_t)n));
		if (n % 10000 || !aliases_are_many(&a))
			continue;
		for (uint64_t live = 0; live <= n; live += 1000)
			(void)stack_of(&a, live);
		aliases_sweep(&a);
		sweeps++;
	}
	CHECK(sweeps < 10);
	CHECK_INT(stack_of(&a, 5000), 5000);
	aliases_deinit(&a);
}

static void comes_round(void)
{
	struct aliases a = {0};
	const uint64_t round = UINT64_C(1) << 31;

	CHECK(aliases_put(&a, 5, 50));
	CHECK(aliases_put(&a, 6, 60));
	CHECK(aliases_put(&a, round + 6, 61));
	/* Numbers wrap: entry 5 is ambiguous. A missing stack is better than a wrong
	 * one. */
	CHECK_INT(stack_of(&a, 5), ABI_NO_STACK);
	CHECK_INT(stack_of(&a, round + 6), 61);
	CHECK_INT(a.chunk_count, 1);
	aliases_deinit(&a);
}

int main(void)
{
	RUN(finds);
	RUN(removes_oldest);
	RUN(many_between_reports);
	RUN(many_in_use);
	RUN(comes_round);
	return check_done();
}
