// SPDX-License-Identifier: Apache-2.0
/* Which words are pointers to a block. */
#include "check.h"

#include "reach/marks.h"

#define FIRST UINT64_C(0x7f1000000000)

/* Blocks of one byte, as malloc(1) returns them. */
static const uint64_t starts[] = {FIRST, FIRST + 16, FIRST + 32};
static const uint64_t ends[] = {FIRST + 1, FIRST + 17, FIRST + 33};

#define COUNT 3

/* The level of `block` after a scan of one word. */
static int level_after(uint64_t word, uint64_t low_tag_max, unsigned block)
{
	const struct reach_words words = {.low_tag_max = low_tag_max};
	struct reach_blocks blocks;
	struct reach_marks marks;
	int level;

	REQUIRE(!reach_blocks_init(starts, ends, COUNT, &blocks));
	REQUIRE(!reach_marks_init(&blocks, &words, &marks));
	reach_marks_scan(&marks, &(struct reach_piece){0, &word, sizeof(word), 0},
			 REACH_REACHED);
	level = marks.level[block];
	reach_marks_deinit(&marks);
	reach_blocks_deinit(&blocks);
	return level;
}

static void tags_in_pointers_to_small_blocks(void)
{
	for (unsigned i = 0; i < COUNT; i++)
		for (uint64_t tag = 0; tag < 16; tag++) {
			CHECK_INT(level_after(starts[i] + tag, 7, i),
				  tag < 8 ? REACH_REACHED : REACH_UNREACHED);
			CHECK_INT(level_after(starts[i] + tag, 0, i),
				  tag == 0   ? REACH_REACHED
				  : tag == 1 ? REACH_POSSIBLE
					     : REACH_UNREACHED);
		}
}

int main(void)
{
	RUN(tags_in_pointers_to_small_blocks);
	return check_done();
}
