// SPDX-License-Identifier: Apache-2.0
/* The index of blocks, against a search of all blocks. */
#include "check.h"

#include "reach/blocks.h"
#include "unit/random.h"

#define BLOCKS_MAX 3000
#define GIB        (UINT64_C(1) << 30)

struct blocks {
	uint64_t start[BLOCKS_MAX], end[BLOCKS_MAX];
	uint32_t number[BLOCKS_MAX];
	uint32_t count;
};

static uint32_t search(const struct blocks *b, uint64_t word)
{
	uint32_t found = REACH_NONE;

	for (uint32_t i = 0; i < b->count; i++)
		if (b->start[i] <= word && word <= b->end[i])
			found = i;
	return found;
}

static uint32_t search_from(const struct blocks *b, uint64_t address)
{
	for (uint32_t i = 0; i < b->count; i++)
		if (b->end[i] > address)
			return i;
	return b->count;
}

/* Words that were looked up before, and with which the next ones are looked up. */
static uint64_t others[REACH_AT_ONCE];

/* The block of the word, looked up together with some others. */
static struct reach_found find_among(const struct reach_blocks *index, uint64_t word)
{
	struct reach_found found[REACH_AT_ONCE];
	size_t count = 0, at;

	if (!reach_span_has(&index->all, word))
		return (struct reach_found){REACH_NONE, false};
	others[random_below(REACH_AT_ONCE)] = word;
	at = random_below(REACH_AT_ONCE);
	others[at] = word;
	for (size_t i = 0; i <= at; i++)
		if (reach_span_has(&index->all, others[i]))
			others[count++] = others[i];
	reach_blocks_find(index, others, count, found);
	return found[count - 1];
}

/* Each part of a group is known by its first address. */
static void check_part(const struct reach_blocks *index, uint64_t word, bool is_start)
{
	uint64_t part = reach_blocks_part(index, word), group = part / REACH_GROUP_PARTS;
	unsigned bit = part % REACH_GROUP_PARTS;

	if (part == REACH_NO_PART)
		return;
	REQUIRE(group < index->group_count);
	CHECK_INT(index->groups[group].starts[bit / 32] >> bit % 32 & 1, is_start);
}

static void check_word(const struct blocks *b, const struct reach_blocks *index,
		       uint64_t word)
{
	uint32_t want = search(b, word);
	struct reach_found got = find_among(index, word);

	if (got.block != want)
		CHECK_FAIL("%" PRIx64 " is of block %u, expected %u", word, got.block,
			   want);
	if (want != REACH_NONE && got.is_start != (word == b->start[want]))
		CHECK_FAIL("%" PRIx64 " is %sthe start of block %u", word,
			   got.is_start ? "not " : "", want);
	check_part(index, word, want != REACH_NONE && word == b->start[want]);
	if (want != REACH_NONE && !reach_filter_has(index->filter, word))
		CHECK_FAIL("the filter lacks %" PRIx64 ", an address of block %u", word,
			   want);
	check_state.checks++;
	if (reach_blocks_from(index, word) != search_from(b, word))
		CHECK_FAIL("the first block above %" PRIx64 " is %u, expected %u", word,
			   reach_blocks_from(index, word), search_from(b, word));
}

/* What the last index had. */
static bool in_groups, has_filter, are_joined;

/* Checks words at and around the ends of all blocks, and in between. */
static void check_all(struct blocks *b)
{
	struct reach_blocks index;

	b->count = reach_blocks_tidy(b->start, b->end, b->number, b->count);
	for (uint32_t i = 0; i < b->count; i++) {
		CHECK(b->start[i] < b->end[i]);
		CHECK(i + 1 == b->count || b->end[i] <= b->start[i + 1]);
	}
	REQUIRE(!reach_blocks_init(b->start, b->end, b->count, &index));
	/* At most what the header says. */
	CHECK(index.cell_count * sizeof(*index.cells) +
		      index.group_count * sizeof(*index.groups) <=
	      6 * (b->count + index.clusters.len));
	in_groups = index.group_count > 0;
	has_filter = index.filter;
	are_joined = false;
	for (uint32_t i = 1; i < b->count; i++)
		are_joined |= b->end[i - 1] == b->start[i];
	CHECK_INT(index.are_joined, are_joined);
	for (uint32_t i = 0; i < b->count; i++) {
		for (int near = -9; near <= 9; near++) {
			check_word(b, &index, b->start[i] + (uint64_t)near);
			check_word(b, &index, b->end[i] + (uint64_t)near);
		}
		check_word(b, &index, b->start[i] + (b->end[i] - b->start[i]) / 2);
		check_word(b, &index, b->end[i] + random_below(1u << 31));
	}
	check_word(b, &index, 0);
	check_word(b, &index, 8);
	check_word(b, &index, UINT64_MAX);
	check_word(b, &index, UINT64_C(1) << 47);
	reach_blocks_deinit(&index);
}

static void dense_heaps(void)
{
	static struct blocks b;
	uint64_t at = 0x55aa00001000;

	for (b.count = 0; b.count < 600; b.count++) {
		b.number[b.count] = b.count;
		b.start[b.count] = at;
		b.end[b.count] = at + random_below(200);
		at = b.end[b.count] + random_below(3) * 16 + 1;
	}
	check_all(&b);
}

/* Blocks as allocators lay them out: at multiples of 8, 16 and so on, some of them large,
 * with or without room between them. */
static void heaps_in_groups(void)
{
	static struct blocks b;

	for (unsigned shift = 2; shift <= 13; shift++)
		for (unsigned kind = 0; kind < 4; kind++) {
			/* The second kind begins before a GiB, and ends behind it. */
			uint64_t part = UINT64_C(1) << shift;
			uint64_t at = 0x7f0040000000 - (kind == 1 ? 200 * part : 0);

			for (b.count = 0; b.count < 300; b.count++) {
				uint64_t size = random_below(2 * (uint32_t)part) + 1;

				if (!random_below(100))
					size += random_below(500) * part;
				if (kind == 2)
					size = (size + part - 1) / part * part;
				b.number[b.count] = b.count;
				b.start[b.count] = at;
				b.end[b.count] = at + size;
				at += (size + part - 1) / part * part;
				if (kind != 2)
					at += random_below(2) * part;
			}
			check_all(&b);
			CHECK_INT(in_groups, shift >= 3);
			CHECK(kind != 2 || are_joined);
		}
}

/* The size of parts is guessed from the first blocks. Later ones need smaller parts, or
 * parts that cannot be grouped. */
static void later_blocks_start_elsewhere(void)
{
	static struct blocks b;

	for (unsigned shift = 2; shift <= 6; shift++) {
		uint64_t at = 0x7f0000000000;

		for (b.count = 0; b.count < 1500; b.count++) {
			b.number[b.count] = b.count;
			b.start[b.count] = at;
			b.end[b.count] = at + (b.count == 1400 ? 512 : 8);
			at += 512 + (b.count == 1300 ? UINT64_C(1) << shift : 0);
		}
		check_all(&b);
		CHECK_INT(in_groups, shift >= 4);
		CHECK(are_joined);
	}
}

/* One block begins in a GiB, and covers the next ones, where many begin at its end. */
static void groups_behind_a_large_block(void)
{
	static struct blocks b = {.count = 1000};
	uint64_t at = 0x7f0000000010;

	for (uint32_t i = 0; i < b.count; i++) {
		b.number[i] = i;
		b.start[i] = at;
		b.end[i] = at + (i == 500 ? 2 * GIB + 5 : 24);
		at = (b.end[i] + 15) / 16 * 16;
	}
	check_all(&b);
	CHECK(in_groups);
}

/* Few blocks have a filter, and one that is large, or many, have none. */
static void filters(void)
{
	static struct blocks b = {.count = 1000};

	for (uint32_t i = 0; i < b.count; i++) {
		b.number[i] = i;
		b.start[i] = 0x7f0000000000 + i * UINT64_C(10000016);
		b.end[i] = b.start[i] + 1000;
	}
	check_all(&b);
	CHECK(has_filter);
	b.end[999] = b.start[999] + GIB;
	check_all(&b);
	CHECK(!has_filter);
}

static void blocks_across_the_address_space(void)
{
	static struct blocks b;

	for (b.count = 0; b.count < 300; b.count++) {
		uint64_t at =
			(uint64_t)random_below(1u << 17) * GIB + random_below(1u << 30);

		b.number[b.count] = b.count;
		b.start[b.count] = at;
		b.end[b.count] = at + (random_below(4) ? random_below(100000)
						       : random_below(7) * GIB);
	}
	check_all(&b);
}

/* Cells are about as many as blocks, but most blocks are in a few of them. */
static void clustered_blocks(void)
{
	static struct blocks b;
	uint64_t at = 0x7f0000000000;

	for (b.count = 0; b.count < 500; b.count++) {
		b.number[b.count] = b.count;
		b.start[b.count] = at;
		b.end[b.count] = at + 8;
		at += b.count % 250 ? 16 : GIB / 2 + 24;
	}
	check_all(&b);
}

/* Blocks that end at a border of a GiB, where the next one starts, or one byte off. */
static void blocks_at_borders(void)
{
	static struct blocks b = {.count = 5};
	const uint64_t at = 0x7f1000000000;
	const uint64_t ends[][2] = {{at - 64, at},
				    {at, at + 64},
				    {at + GIB - 1, at + GIB + 1},
				    {at + 2 * GIB - 32, at + 2 * GIB - 1},
				    {at + 3 * GIB - 5, at + 9 * GIB}};

	for (uint32_t i = 0; i < b.count; i++) {
		b.start[i] = ends[i][0];
		b.end[i] = ends[i][1];
		b.number[i] = i;
	}
	check_all(&b);
	CHECK_INT(b.count, 5);
}

/* What only a broken or hostile allocator reports: in any order, twice, overlapping,
 * outside of user addresses, empty. */
static void nonsense_is_tidied(void)
{
	static struct blocks b = {
		.start = {0x9000, 0x1000, 0x5000, 0x1000, 0, UINT64_C(1) << 47, 0x5008,
			  0x9000, UINT64_MAX, 0x7000},
		.end = {0x9010, 0x1010, 0x6000, 0x1020, 0x100, (UINT64_C(1) << 47) + 8,
			0x5010, 0x9000, UINT64_MAX, 0x6000},
		.number = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9},
		.count = 10,
	};

	check_all(&b);
	REQUIRE(b.count == 4);
	CHECK_INT(b.start[0], 0x1000);
	CHECK_INT(b.end[0], 0x1020);
	CHECK_INT(b.number[0], 3);
	CHECK_INT(b.end[1], 0x5008);
	CHECK_INT(b.number[3], 0);

	static struct blocks none;

	check_all(&none);
	CHECK_INT(none.count, 0);
}

int main(void)
{
	RUN(dense_heaps);
	RUN(heaps_in_groups);
	RUN(later_blocks_start_elsewhere);
	RUN(groups_behind_a_large_block);
	RUN(filters);
	RUN(blocks_across_the_address_space);
	RUN(clustered_blocks);
	RUN(blocks_at_borders);
	RUN(nonsense_is_tidied);
	return check_done();
}
