// SPDX-License-Identifier: Apache-2.0
#include "reach/blocks.h"

#include <stdlib.h>

#define GIB_SHIFT 30
#define GIB_COUNT (UINT64_C(1) << (REACH_ADDRESS_BITS - GIB_SHIFT))

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

/* Add the cluster of the GiB `gib`, whose blocks are `first` to `last`. */
static bool add_cluster(struct reach_blocks *b, uint64_t gib, uint32_t first,
			uint32_t last)
{
	uint64_t from = gib << GIB_SHIFT, to = from + (UINT64_C(1) << GIB_SHIFT) - 1;
	struct reach_cluster cluster = {
		.low = b->start[first] > from ? b->start[first] : from,
		.high = b->end[last] < to ? b->end[last] : to,
		.first_cell = (uint32_t)b->cells.len,
	};
	uint64_t count = last - first + 1, cells;

	while ((cluster.high - cluster.low) >> cluster.shift >= count &&
	       cluster.shift < 63)
		cluster.shift++;
	cells = ((cluster.high - cluster.low) >> cluster.shift) + 1;
	if (!vec_reserve(&b->cells, b->cells.len + cells) ||
	    !vec_push(&b->clusters, cluster))
		return false;
	for (uint64_t cell = 0; cell < cells; cell++) {
		uint64_t at = cluster.low + (cell << cluster.shift);

		while (first < last && b->start[first + 1] <= at)
			first++;
		b->cells.data[b->cells.len++] = first;
	}
	b->gib[gib] = (uint32_t)b->clusters.len;
	return true;
}

/* The last block that starts in the GiB or before, from `first` on. */
static uint32_t last_of(const struct reach_blocks *b, uint64_t gib, uint32_t first)
{
	uint32_t low = first, high = b->count;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (b->start[middle] >> GIB_SHIFT <= gib)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static bool add_clusters(struct reach_blocks *b)
{
	uint64_t gib = 0;

	for (uint32_t i = 0; i < b->count;) {
		uint64_t from = b->start[i] >> GIB_SHIFT, to = b->end[i] >> GIB_SHIFT;

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

struct error *reach_blocks_init(const uint64_t start[], const uint64_t end[],
				uint32_t count, struct reach_blocks *ret)
{
	*ret = (struct reach_blocks){.start = start, .end = end, .count = count};
	ret->gib = calloc(GIB_COUNT, sizeof(*ret->gib));
	if (!ret->gib)
		return error_no_memory();
	if (!count) {
		/* No word but this one, which no GiB has. */
		ret->all.low = UINT64_MAX;
		return NULL;
	}
	ret->all.low = start[0];
	ret->all.span = end[count - 1] - start[0];
	if (!add_clusters(ret)) {
		reach_blocks_deinit(ret);
		return error_no_memory();
	}
	return NULL;
}

void reach_blocks_deinit(struct reach_blocks *blocks)
{
	free(blocks->gib);
	blocks->gib = NULL;
	vec_deinit(&blocks->clusters);
	vec_deinit(&blocks->cells);
}

/* The first block from `first` on, below `limit`, that starts above `address`. */
static uint32_t first_above(const struct reach_blocks *b, uint64_t address,
			    uint32_t first, uint32_t limit)
{
	while (first < limit) {
		uint32_t middle = first + (limit - first) / 2;

		if (b->start[middle] <= address)
			first = middle + 1;
		else
			limit = middle;
	}
	return first;
}

uint32_t reach_blocks_from(const struct reach_blocks *blocks, uint64_t address)
{
	uint32_t above = first_above(blocks, address, 0, blocks->count);

	return above && blocks->end[above - 1] > address ? above - 1 : above;
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

/* The cell of the word; NULL: the word is in no cluster. */
static const uint32_t *cell_of(const struct reach_blocks *blocks, uint64_t word)
{
	uint64_t gib = word >> GIB_SHIFT;
	uint32_t number = gib < GIB_COUNT ? blocks->gib[gib] : 0;
	const struct reach_cluster *cluster;

	if (!number)
		return NULL;
	cluster = &blocks->clusters.data[number - 1];
	if (word < cluster->low || word > cluster->high)
		return NULL;
	return &blocks->cells.data[cluster->first_cell +
				   ((word - cluster->low) >> cluster->shift)];
}

/* The block of the word; `i`: what its cell holds. */
static uint32_t find_from(const struct reach_blocks *blocks, uint64_t word, uint32_t i)
{
	if (blocks->start[i] > word)
		return REACH_NONE;
	if (i + 1 < blocks->count && blocks->start[i + 1] <= word)
		i = last_up_to(blocks, word, i + 1);
	return word <= blocks->end[i] ? i : REACH_NONE;
}

void reach_blocks_find(const struct reach_blocks *blocks, const uint64_t words[],
		       size_t count, uint32_t ret[])
{
	const uint32_t *cells[REACH_AT_ONCE];

	for (size_t i = 0; i < count; i++) {
		cells[i] = cell_of(blocks, words[i]);
		__builtin_prefetch(cells[i]);
	}
	for (size_t i = 0; i < count; i++)
		if (cells[i]) {
			__builtin_prefetch(&blocks->start[*cells[i]]);
			__builtin_prefetch(&blocks->end[*cells[i]]);
		}
	for (size_t i = 0; i < count; i++)
		ret[i] = cells[i] ? find_from(blocks, words[i], *cells[i]) : REACH_NONE;
}
