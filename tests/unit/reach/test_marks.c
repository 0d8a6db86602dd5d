// SPDX-License-Identifier: Apache-2.0
/* Which words are pointers to a block. */
#include "check.h"

#include <string.h>

#include "arch/words.h"
#include "reach/marks.h"
#include "unit/random.h"

#define FIRST UINT64_C(0x7f1000000000)

/* Blocks of one byte, as malloc(1) returns them. */
static const uint64_t starts[] = {FIRST, FIRST + 16, FIRST + 32};
static const uint64_t ends[] = {FIRST + 1, FIRST + 17, FIRST + 33};

#define COUNT 3

#define WORD  sizeof(uint64_t)

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

#define MANY  400
#define WORDS 512

/* Blocks of 24 bytes, from one at a multiple of 4 GiB on, and a hole behind half of them.
 */
struct heap {
	uint64_t start[MANY], end[MANY];
	struct reach_blocks blocks;
};

static void make_heap(struct heap *heap)
{
	for (unsigned i = 0; i < MANY; i++) {
		heap->start[i] = FIRST - 32 * MANY / 4 + 32 * i +
				 (i < MANY / 2 ? 0 : UINT64_C(0x300000000));
		heap->end[i] = heap->start[i] + 24;
	}
	REQUIRE(!reach_blocks_init(heap->start, heap->end, MANY, &heap->blocks));
}

/* A pointer, or a word that is nearly one. */
static uint64_t make_word(const struct heap *heap)
{
	uint64_t word = heap->start[random_below(MANY)] + random_below(4) * 8;

	switch (random_below(5)) {
	case 0:
		return word | (uint64_t)random_below(256) << 56;
	case 1:
		return word ^ UINT64_C(1) << random_below(64);
	case 2:
		return random_below(2) ? heap->blocks.all.low - 1 - random_below(9)
				       : heap->blocks.all.low + heap->blocks.all.span +
						 random_below(9);
	case 3:
		return (uint64_t)random_below(UINT32_MAX) << 32 |
		       random_below(UINT32_MAX);
	}
	return word;
}

/* As glibc mangles it. */
static uint64_t mangled(uint64_t word, uint64_t guard)
{
	word ^= guard;
	return word << ARCH_GUARD_ROTATION | word >> (-ARCH_GUARD_ROTATION & 63);
}

/* Vector instructions find the same words that plain C finds. */
static void check_near(const struct heap *heap, const uint64_t *words, uint64_t guard)
{
	const struct arch_near near = {(uint32_t)(heap->blocks.all.low >> 32),
				       random_below(20)};
	const char *at = (const char *)words + random_below(8);

	CHECK_INT(arch_words_near(&near, at, guard),
		  arch_words_near_each(&near, at, guard));
}

/* Many words are sorted out together, and words that were followed are not followed
 * again. Each block must have the level that it has after each word was scanned alone. */
static void many_words_are_like_each_alone(void)
{
	static struct heap heap;
	static uint64_t memory[WORDS];

	make_heap(&heap);
	for (unsigned round = 0; round < 400; round++) {
		const struct reach_words words = {
			.low_tag_max = round & 1 ? 7 : 0,
			.guard = round & 2 ? UINT64_C(0x5af10c93b27e4d68) : 0,
		};
		size_t first = random_below(40);
		size_t size = WORD * (random_below(WORDS - (unsigned)first) + 1);
		struct reach_marks one, many;

		REQUIRE(!reach_marks_init(&heap.blocks, &words, &one));
		REQUIRE(!reach_marks_init(&heap.blocks, &words, &many));
		if (round & 4)
			reach_marks_remember(&many);
		for (unsigned scan = 0; scan < 3; scan++) {
			enum reach_level level =
				random_below(2) ? REACH_POSSIBLE : REACH_REACHED;

			for (size_t i = 0; i < WORDS; i++) {
				memory[i] = make_word(&heap);
				if (words.guard && random_below(2))
					memory[i] = mangled(memory[i], words.guard);
			}
			check_near(&heap, memory + first, words.guard);
			reach_marks_scan(
				&many, &(struct reach_piece){0, memory + first, size, 0},
				level);
			for (size_t i = 0; i < size / WORD; i++)
				reach_marks_scan(&one,
						 &(struct reach_piece){
							 0, memory + first + i, WORD, 0},
						 level);
		}
		CHECK(!memcmp(one.level, many.level, MANY));
		CHECK(!!many.followed == !!(round & 4));
		reach_marks_deinit(&one);
		reach_marks_deinit(&many);
	}
	reach_blocks_deinit(&heap.blocks);
}

#define SWEPT_BLOCKS 3000
#define SWEPT_WORDS  20000

/* Blocks of this process: words of `memory`. */
struct swept {
	uint64_t memory[SWEPT_WORDS];
	uint64_t start[SWEPT_BLOCKS], end[SWEPT_BLOCKS];
	uint32_t count;
	struct reach_blocks blocks;
};

/* Lay out blocks, and point to most of them, from words anywhere. */
static void make_swept(struct swept *s, unsigned gap_max, unsigned pointers)
{
	uint64_t base = (uintptr_t)s->memory;
	size_t at = random_below(3);

	memset(s->memory, 0, sizeof(s->memory));
	for (s->count = 0; s->count < SWEPT_BLOCKS && at + 12 < SWEPT_WORDS; s->count++) {
		s->start[s->count] = base + at * WORD;
		at += random_below(9) + 1;
		s->end[s->count] = base + at * WORD;
		at += random_below(gap_max + 1);
	}
	for (unsigned i = 0; i < pointers; i++)
		s->memory[random_below(SWEPT_WORDS)] =
			s->start[random_below(s->count)] +
			(random_below(40) ? 0 : random_below(9));
	REQUIRE(!reach_blocks_init(s->start, s->end, s->count, &s->blocks));
}

static void scan_words(struct reach_marks *marks, uint64_t from, uint64_t to,
		       uint8_t level)
{
	const struct reach_piece piece = {from, (const void *)(uintptr_t)from, to - from,
					  0};

	if (level && from < to)
		reach_marks_scan(marks, &piece, (enum reach_level)level);
}

/* Scan all gaps, and all blocks that are reached, until nothing changes. */
static void scan_again_and_again(const struct swept *s, struct reach_marks *marks)
{
	uint64_t base = (uintptr_t)s->memory;

	do {
		uint64_t at = base;

		marks->todo.len = 0;
		for (uint32_t i = 0; i < s->count; i++) {
			scan_words(marks, at, s->start[i], REACH_REACHED);
			scan_words(marks, s->start[i], s->end[i], marks->level[i]);
			at = s->end[i];
		}
		scan_words(marks, at, base + sizeof(s->memory), REACH_REACHED);
	} while (marks->todo.len);
}

/* Sweep the memory in pieces, and then scan the blocks that this leaves to do. */
static void sweep_and_flood(const struct swept *s, struct reach_marks *marks)
{
	size_t size;

	for (size_t at = 0; at < SWEPT_WORDS; at += size) {
		size = random_below(4000) + 1;
		if (size > SWEPT_WORDS - at)
			size = SWEPT_WORDS - at;
		reach_marks_sweep(marks,
				  &(struct reach_piece){(uintptr_t)(s->memory + at),
							s->memory + at, size * WORD, 0});
	}
	reach_marks_swept(marks);
	while (marks->todo.len) {
		uint32_t block = marks->todo.data[--marks->todo.len];

		scan_words(marks, s->start[block], s->end[block], marks->level[block]);
	}
}

/* A sweep scans runs of blocks that are reached as one. */
static void sweeps_reach_the_same_blocks(void)
{
	static struct swept swept;
	const struct reach_words words = {.unaligned = false};
	uint32_t levels[3] = {0};

	for (unsigned round = 0; round < 100; round++) {
		struct reach_marks want, got;

		make_swept(&swept, round % 3, 2000 + 300 * (round % 31));
		REQUIRE(!reach_marks_init(&swept.blocks, &words, &want));
		REQUIRE(!reach_marks_init(&swept.blocks, &words, &got));
		if (round & 1)
			reach_marks_remember(&got);
		got.is_apart = round % 5 == 4;
		scan_again_and_again(&swept, &want);
		sweep_and_flood(&swept, &got);
		CHECK(!memcmp(want.level, got.level, swept.count));
		for (uint32_t i = 0; i < swept.count; i++)
			levels[want.level[i]]++;
		reach_marks_deinit(&want);
		reach_marks_deinit(&got);
		reach_blocks_deinit(&swept.blocks);
	}
	/* There were some of each. */
	CHECK(levels[REACH_UNREACHED] > 1000);
	CHECK(levels[REACH_POSSIBLE] > 1000);
	CHECK(levels[REACH_REACHED] > 1000);
}

int main(void)
{
	RUN(sweeps_reach_the_same_blocks);
	RUN(many_words_are_like_each_alone);
	RUN(tags_in_pointers_to_small_blocks);
	return check_done();
}
