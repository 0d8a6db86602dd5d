// SPDX-License-Identifier: Apache-2.0
#include "unwind_miss/code_ranges.h"

#include <stddef.h>

static void store(uint64_t *at, uint64_t value)
{
	__atomic_store_n(at, value, __ATOMIC_SEQ_CST);
}

/* Each of the two stores only enlarges the range. */
static void widen(struct abi_range *range, uint64_t start, uint64_t end)
{
	if (start < range->start)
		store(&range->start, start);
	if (end > range->end)
		store(&range->end, end);
}

/* Store the start last: a range that ends at 0 is empty. */
static void drop(struct abi_range *range)
{
	store(&range->end, 0);
	store(&range->start, 0);
}

/* The number of bytes between two ranges; 0 if they touch or overlap. */
static uint64_t distance(const struct abi_range *a, const struct abi_range *b)
{
	if (a->end < b->start)
		return b->start - a->end;
	return b->end < a->start ? a->start - b->end : 0;
}

/* Merge the two closest ranges and return the one that becomes free. */
static struct abi_range *make_room(struct abi_moves *moves)
{
	struct abi_range *one = &moves->range[0], *other = &moves->range[1];
	uint64_t nearest = UINT64_MAX;

	for (size_t i = 0; i < ABI_CODE_RANGES; i++) {
		for (size_t k = i + 1; k < ABI_CODE_RANGES; k++) {
			uint64_t d = distance(&moves->range[i], &moves->range[k]);

			if (d >= nearest)
				continue;
			nearest = d;
			one = &moves->range[i];
			other = &moves->range[k];
		}
	}
	widen(one, other->start, other->end);
	drop(other);
	return other;
}

bool code_ranges_add(struct abi_moves *moves, uint64_t start, uint64_t end)
{
	struct abi_range fresh = {start, end}, *unused = NULL;

	for (size_t i = 0; i < ABI_CODE_RANGES; i++)
		if (start >= moves->range[i].start && end <= moves->range[i].end)
			return true;
	for (size_t i = 0; i < ABI_CODE_RANGES; i++) {
		struct abi_range *range = &moves->range[i];

		if (!range->end) {
			unused = range;
		} else if (!distance(range, &fresh)) {
			widen(range, start, end);
			return false;
		}
	}
	if (!unused)
		unused = make_room(moves);
	/* For a moment the range begins at 0 and covers more than it will. */
	store(&unused->end, end);
	store(&unused->start, start);
	return false;
}

void code_ranges_clear(struct abi_moves *moves)
{
	for (size_t i = 0; i < ABI_CODE_RANGES; i++)
		drop(&moves->range[i]);
}
