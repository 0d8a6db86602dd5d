// SPDX-License-Identifier: Apache-2.0
/* The blocks of each process. */
#include "check.h"

#include "reach/by_process.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct snapshot *, snapshot_destroy);

static void add_block(struct snapshot *snap, uint32_t process)
{
	REQUIRE(vec_push(&snap->blocks[BLOCK_HEAP],
			 (struct snapshot_block){.process = process}));
}

static void check_blocks(const struct reach_by_process *index, uint32_t process,
			 const uint32_t expected[], uint32_t expected_count)
{
	uint32_t count, *numbers = reach_by_process_get(index, process, &count);

	REQUIRE(count == expected_count);
	for (uint32_t i = 0; i < count; i++)
		CHECK_INT(numbers[i], expected[i]);
}

static void blocks_are_grouped_in_their_order(void)
{
	_cleanup_(snapshot_destroyp) struct snapshot *snap = snapshot_create();
	_cleanup_(reach_by_process_deinit) struct reach_by_process index = {.first =
										    NULL};
	static const uint32_t of[] = {2, 0, 2, 5, 0, 3, 2, UINT32_MAX};

	for (int i = 0; i < 4; i++)
		REQUIRE(snap && snapshot_add_process(snap, 100 + i));
	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++)
		add_block(snap, of[i]);
	REQUIRE(!reach_by_process_init(snap, &index));
	check_blocks(&index, 0, (const uint32_t[]){1, 4}, 2);
	check_blocks(&index, 1, NULL, 0);
	check_blocks(&index, 2, (const uint32_t[]){0, 2, 6}, 3);
	check_blocks(&index, 3, (const uint32_t[]){5}, 1);
}

static void nothing_to_group(void)
{
	_cleanup_(snapshot_destroyp) struct snapshot *snap = snapshot_create();
	_cleanup_(reach_by_process_deinit) struct reach_by_process index = {.first =
										    NULL};

	REQUIRE(snap && !reach_by_process_init(snap, &index));
	CHECK_INT(index.first[0], 0);
	REQUIRE(snapshot_add_process(snap, 100));
	reach_by_process_deinit(&index);
	REQUIRE(!reach_by_process_init(snap, &index));
	check_blocks(&index, 0, NULL, 0);
}

int main(void)
{
	RUN(blocks_are_grouped_in_their_order);
	RUN(nothing_to_group);
	return check_done();
}
