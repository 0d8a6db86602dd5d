// SPDX-License-Identifier: Apache-2.0
#include "reach/blocks.h"

#include <stdlib.h>
#include <string.h>

#include "util/huge_array.h"

/* Parts of groups: a tag in the lowest three bits of a pointer leads into the same part.
 */
#define PART_SHIFT_MIN 3
#define PART_SHIFT_MAX 12

/* The size of parts is guessed from so many blocks. */
#define GUESS_BLOCKS 1024

/* How far ahead of use starts and ends of blocks are fetched. */
#define AHEAD_BYTES 1024

struct extent {
	uint64_t start, end;
	uint32_t number;
};

static int compare(const void *a, const void *b)
{
	const struct extent *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->end < y->end) - (x->end > y->end);
}

/* Are they in order? Then nothing has to be copied. */
static bool are_ascending(const uint64_t start[], uint32_t count)
{
	for (uint32_t i = 1; i < count; i++)
		if (start[i - 1] >= start[i])
			return false;
	return true;
}

static bool sort(uint64_t start[], uint64_t end[], uint32_t number[], uint32_t count)
{
	struct extent *extents;

	if (are_ascending(start, count))
		return true;
	extents = calloc(count, sizeof(*extents));
	if (!extents)
		return false;
	for (uint32_t i = 0; i < count; i++)
		extents[i] = (struct extent){start[i], end[i], number ? number[i] : 0};
	qsort(extents, count, sizeof(*extents), compare);
	for (uint32_t i = 0; i < count; i++) {
		start[i] = extents[i].start;
		end[i] = extents[i].end;
		if (number)
			number[i] = extents[i].number;
	}
	free(extents);
	return true;
}

uint32_t reach_blocks_tidy(uint64_t start[], uint64_t end[], uint32_t number[],
			   uint32_t count)
{
	const uint64_t limit = UINT64_C(1) << REACH_ADDRESS_BITS;
	uint32_t kept = 0;

	/* Without memory for the order no block is judged. */
	if (!sort(start, end, number, count))
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t from = start[i], to = end[i];

		if (!from || from >= limit || to < from || to >= limit ||
		    (kept && start[kept - 1] == from))
			continue;
		if (kept && end[kept - 1] > from)
			end[kept - 1] = from;
		start[kept] = from;
		end[kept] = to > from ? to : from + 1;
		if (number)
			number[kept] = number[i];
		kept++;
	}
	return kept;
}

/* Does one of the blocks `first` to `last` start where the one before it ends? */
static bool has_joined(const struct reach_blocks *b, uint32_t first, uint32_t last)
{
	for (uint32_t i = first ? first : 1; i <= last; i++)
		if (b->end[i - 1] == b->start[i])
			return true;
	return false;
}

/* Add a cluster of cells. `cluster` has the range of addresses. */
static void add_cells(struct reach_blocks *b, struct reach_cluster *cluster,
		      uint32_t first, uint32_t last)
{
	uint64_t span = cluster->high - cluster->low, count = last - first + 1, cells;

	while (span >> cluster->shift >= count && cluster->shift < 63)
		cluster->shift++;
	cells = (span >> cluster->shift) + 1;
	cluster->first = (uint32_t)b->cell_count;
	b->are_joined |= has_joined(b, first, last);
	for (uint64_t cell = 0; cell < cells; cell++) {
		uint64_t at = cluster->low + (cell << cluster->shift);

		while (first < last && b->start[first + 1] <= at)
			first++;
		b->cells[b->cell_count++] = first;
	}
}

/* The size of parts, as a shift: all blocks start at multiples of it, and it is the
 * largest such size. `any`: the addresses of the blocks, combined by OR. */
static uint8_t shift_of(uint64_t any)
{
	uint8_t shift = any ? (uint8_t)__builtin_ctzll(any) : PART_SHIFT_MIN;

	return shift < PART_SHIFT_MAX ? shift : PART_SHIFT_MAX;
}

/* How many groups the cluster would have with parts of this size; 0 if they would take
 * more memory than REACH_INDEX_BYTES a block. */
static uint64_t count_groups(const struct reach_cluster *cluster, uint8_t shift,
			     uint64_t blocks)
{
	uint64_t groups =
		((cluster->high - cluster->low) >> shift) / REACH_GROUP_PARTS + 1;

	return shift >= PART_SHIFT_MIN && groups * sizeof(struct reach_group) <=
						  blocks * REACH_INDEX_BYTES
		       ? groups
		       : 0;
}

/* Combine the addresses of the cluster's blocks up to `last` by OR. */
static uint64_t combine(const struct reach_blocks *b, const struct reach_cluster *cluster,
			uint32_t first, uint32_t last)
{
	uint64_t any = 0;

	for (uint32_t i = first; i <= last; i++)
		if (b->start[i] >= cluster->low)
			any |= b->start[i];
	return any;
}

/* The processor by itself does not fetch beyond the end of a page. */
static void prefetch_ahead(const uint64_t *at)
{
	__builtin_prefetch((const void *)((uintptr_t)at + AHEAD_BYTES));
}

/* Add these groups. Returns the addresses of their blocks, combined by OR. */
static uint64_t add_groups(struct reach_blocks *b, struct reach_cluster *cluster,
			   uint64_t groups, uint32_t first, uint32_t last)
{
	uint64_t at = cluster->low, any = 0, before = 0;
	bool are_joined = false;

	cluster->in_groups = true;
	cluster->first = (uint32_t)b->group_count;
	/* The first one may start in the GiB before. */
	if (b->start[first] < at)
		first++;
	if (first)
		before = b->end[first - 1];
	for (uint64_t i = 0; i < groups; i++) {
		struct reach_group *group = &b->groups[b->group_count++];

		group->before = first;
		for (; first <= last; first++) {
			uint64_t start = b->start[first];
			uint64_t part = (start - at) >> cluster->shift;

			if (part >= REACH_GROUP_PARTS)
				break;
			prefetch_ahead(&b->start[first]);
			prefetch_ahead(&b->end[first]);
			group->starts[part / 32] |= 1u << part % 32;
			any |= start;
			are_joined |= start == before;
			before = b->end[first];
		}
		at += (uint64_t)REACH_GROUP_PARTS << cluster->shift;
	}
	b->are_joined |= are_joined;
	return any;
}

/*
 * Add groups, if they take little memory. The size of their parts is guessed from the
 * first blocks, so that not all addresses are read twice. If a later block needs smaller
 * parts, all groups are made again.
 */
static bool try_groups(struct reach_blocks *b, struct reach_cluster *cluster,
		       uint32_t first, uint32_t last)
{
	uint32_t few = last - first < GUESS_BLOCKS ? last : first + GUESS_BLOCKS;
	uint64_t any = combine(b, cluster, first, few);
	size_t before = b->group_count;

	for (;;) {
		uint64_t groups;

		cluster->shift = shift_of(any);
		groups =
			count_groups(cluster, cluster->shift, last - first + UINT64_C(1));
		if (!groups)
			return false;
		any = add_groups(b, cluster, groups, first, last);
		if (shift_of(any) >= cluster->shift)
			return true;
		memset(b->groups + before, 0, groups * sizeof(*b->groups));
		b->group_count = before;
		cluster->in_groups = false;
	}
}

/* Add the cluster of the GiB `gib`, whose blocks are `first` to `last`. */
static bool add_cluster(struct reach_blocks *b, uint64_t gib, uint32_t first,
			uint32_t last)
{
	uint64_t from = gib << REACH_GIB_SHIFT;
	uint64_t to = from + (UINT64_C(1) << REACH_GIB_SHIFT) - 1;
	struct reach_cluster cluster = {
		.low = b->start[first] > from ? b->start[first] : from,
		.high = b->end[last] < to ? b->end[last] : to,
	};

	if (!try_groups(b, &cluster, first, last)) {
		cluster.shift = 0;
		add_cells(b, &cluster, first, last);
	}
	if (!vec_push(&b->clusters, cluster))
		return false;
	b->gib[gib] = (uint32_t)b->clusters.len;
	return true;
}

/* The last block that starts in the GiB or before, from `first` on. */
static uint32_t last_of(const struct reach_blocks *b, uint64_t gib, uint32_t first)
{
	return first - 1 +
	       bisect(b->count - first, i, b->start[first + i] >> REACH_GIB_SHIFT <= gib);
}

static bool add_clusters(struct reach_blocks *b)
{
	uint64_t gib = 0;

	for (uint32_t i = 0; i < b->count;) {
		uint64_t from = b->start[i] >> REACH_GIB_SHIFT;
		uint64_t to = b->end[i] >> REACH_GIB_SHIFT;

		if (gib < from)
			gib = from;
		if (gib > to) {
			i++;
			continue;
		}

		uint32_t last = last_of(b, gib, i);

		if (!add_cluster(b, gib, i, last))
			return false;
		gib++;
		/* The last block may reach into the next GiB, the others do not. */
		i = last;
	}
	return true;
}

/* With more bits set than a quarter it would help little. */
static void make_filter(struct reach_blocks *b)
{
	uint64_t left = REACH_FILTER_BITS / 4;
	uint64_t *filter = calloc(REACH_FILTER_BITS / 64, sizeof(*filter));

	for (uint32_t i = 0; filter && i < b->count; i++) {
		uint64_t at = b->start[i] >> REACH_FILTER_SHIFT;
		uint64_t last = b->end[i] >> REACH_FILTER_SHIFT;

		if (last - at >= left) {
			free(filter);
			return;
		}
		left -= last - at + 1;
		for (; at <= last; at++)
			filter[at % REACH_FILTER_BITS / 64] |= UINT64_C(1) << at % 64;
	}
	b->filter = filter;
}

/* A block is in several clusters only as the first one there. */
static size_t cell_room(uint32_t count)
{
	return (count + REACH_GIB_COUNT) * sizeof(uint32_t);
}

static size_t group_room(uint32_t count)
{
	return (count + REACH_GIB_COUNT) * REACH_INDEX_BYTES;
}

/* Room for all cells and groups that there can be. What is not used takes no memory. */
static bool make_room(struct reach_blocks *b)
{
	b->cells = huge_array_create(cell_room(b->count));
	b->groups = huge_array_create(group_room(b->count));
	return b->cells && b->groups;
}

struct error *reach_blocks_init(const uint64_t start[], const uint64_t end[],
				uint32_t count, struct reach_blocks *ret)
{
	*ret = (struct reach_blocks){.start = start, .end = end, .count = count};
	ret->gib = calloc(REACH_GIB_COUNT, sizeof(*ret->gib));
	if (!ret->gib)
		return error_no_memory();
	if (!count) {
		/* No word but this one, which no GiB has. */
		ret->all.low = UINT64_MAX;
		return NULL;
	}
	ret->all.low = start[0];
	ret->all.span = end[count - 1] - start[0];
	if (!make_room(ret) || !add_clusters(ret)) {
		reach_blocks_deinit(ret);
		return error_no_memory();
	}
	make_filter(ret);
	return NULL;
}

void reach_blocks_deinit(struct reach_blocks *blocks)
{
	free(blocks->gib);
	blocks->gib = NULL;
	free(blocks->filter);
	blocks->filter = NULL;
	vec_deinit(&blocks->clusters);
	huge_array_destroy(blocks->cells, cell_room(blocks->count));
	huge_array_destroy(blocks->groups, group_room(blocks->count));
	blocks->cells = NULL;
	blocks->groups = NULL;
}

/* The first block from `first` on, below `limit`, that starts above `address`. */
static uint32_t first_above(const struct reach_blocks *b, uint64_t address,
			    uint32_t first, uint32_t limit)
{
	return first + bisect(limit - first, i, b->start[first + i] <= address);
}

/* Cells have about one block each; where they have many, steps double. */
static uint32_t last_up_to(const struct reach_blocks *b, uint64_t word, uint32_t i)
{
	uint32_t step = 1;

	while (step < b->count - i && b->start[i + step] <= word) {
		i += step;
		step *= 2;
	}
	return first_above(b, word, i, step < b->count - i ? i + step : b->count) - 1;
}

/* The block of the word; `i`: what its cell holds. */
static struct reach_found find_from(const struct reach_blocks *blocks, uint64_t word,
				    uint32_t i)
{
	if (blocks->start[i] > word)
		return (struct reach_found){REACH_NONE, false};
	if (i + 1 < blocks->count && blocks->start[i + 1] <= word)
		i = last_up_to(blocks, word, i + 1);
	return (struct reach_found){word <= blocks->end[i] ? i : REACH_NONE,
				    word == blocks->start[i]};
}

/* Bits that are set. Not every processor that memtrace is built for has an instruction
 * for it, and the compiler's function is slower. */
static uint32_t count_bits(uint64_t bits)
{
	bits -= bits >> 1 & 0x5555555555555555;
	bits = (bits & 0x3333333333333333) + (bits >> 2 & 0x3333333333333333);
	bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0f;
	return (uint32_t)(bits * 0x0101010101010101 >> 56);
}

/* The last block that starts in the part, or before. The caller looks whether it has
 * ended before the word. */
static struct reach_found last_start(const struct reach_group *group, uint32_t part,
				     bool is_start)
{
	uint64_t low = group->starts[0] | (uint64_t)group->starts[1] << 32;
	uint64_t high = group->starts[2], upto = UINT64_MAX >> (63 - part % 64);
	bool starts = (part < 64 ? low : high) >> part % 64 & 1;

	if (part < 64) {
		low &= upto;
		high = 0;
	} else {
		high &= upto;
	}
	return (struct reach_found){group->before + count_bits(low) + count_bits(high) -
					    1,
				    is_start && starts};
}

/* Where the index says what a word points to. */
struct place {
	const uint32_t *cell;            /* or */
	const struct reach_group *group; /* or both NULL: no block has the word */
	uint32_t part;                   /* of the group */
	bool may_start;                  /* the word is the first address of its part */
};

static struct place place_of(const struct reach_blocks *blocks, uint64_t word)
{
	const struct reach_cluster *cluster = reach_blocks_cluster(blocks, word);
	struct place place = {.cell = NULL};
	uint64_t part;

	if (!cluster)
		return place;
	part = (word - cluster->low) >> cluster->shift;
	if (!cluster->in_groups) {
		place.cell = &blocks->cells[cluster->first + part];
		__builtin_prefetch(place.cell);
		return place;
	}
	place.group = &blocks->groups[cluster->first + part / REACH_GROUP_PARTS];
	place.part = (uint32_t)(part % REACH_GROUP_PARTS);
	place.may_start = !(word & ((UINT64_C(1) << cluster->shift) - 1));
	__builtin_prefetch(place.group);
	return place;
}

uint32_t reach_blocks_from(const struct reach_blocks *blocks, uint64_t address)
{
	struct place place = place_of(blocks, address);
	uint32_t above = place.group
				 ? last_start(place.group, place.part, false).block + 1
				 : first_above(blocks, address, 0, blocks->count);

	return above && blocks->end[above - 1] > address ? above - 1 : above;
}

void reach_blocks_find(const struct reach_blocks *blocks, const uint64_t words[],
		       size_t count, struct reach_found ret[])
{
	struct place places[REACH_AT_ONCE];

	for (size_t i = 0; i < count; i++)
		places[i] = place_of(blocks, words[i]);
	for (size_t i = 0; i < count; i++) {
		const struct place *place = &places[i];

		if (place->cell) {
			__builtin_prefetch(&blocks->start[*place->cell]);
			__builtin_prefetch(&blocks->end[*place->cell]);
		} else if (place->group) {
			ret[i] = last_start(place->group, place->part, place->may_start);
			if (!ret[i].is_start)
				__builtin_prefetch(&blocks->end[ret[i].block]);
		}
	}
	for (size_t i = 0; i < count; i++) {
		if (places[i].cell)
			ret[i] = find_from(blocks, words[i], *places[i].cell);
		else if (!places[i].group ||
			 (!ret[i].is_start && words[i] > blocks->end[ret[i].block]))
			ret[i].block = REACH_NONE;
	}
}
