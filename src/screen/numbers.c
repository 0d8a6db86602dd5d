// SPDX-License-Identifier: Apache-2.0
#include "screen/numbers.h"

#include "util/saturate.h"

#define SIGN (UINT64_C(1) << 63)

void numbers_add_row(struct numbers *numbers, const struct report_row *row)
{
	numbers->bytes = saturate_add(numbers->bytes, row->sum.estimated_bytes);
	numbers->count = saturate_add(numbers->count, row->sum.estimated_count);
	if (__builtin_add_overflow(numbers->growth_bytes, row->estimated_growth_bytes,
				   &numbers->growth_bytes))
		numbers->growth_bytes =
			row->estimated_growth_bytes < 0 ? INT64_MIN : INT64_MAX;
	if (numbers->oldest_ns < row->oldest_age_ns)
		numbers->oldest_ns = row->oldest_age_ns;
	numbers->allocated_bytes =
		saturate_add(numbers->allocated_bytes, row->flow.allocated_bytes);
	numbers->freed_bytes = saturate_add(numbers->freed_bytes, row->flow.freed_bytes);
	numbers->allocated_rate += row->rates.allocated_bytes;
	numbers->at_peak_bytes = saturate_add(numbers->at_peak_bytes, row->at_peak_bytes);
	numbers->peak_bytes = saturate_add(numbers->peak_bytes, row->peak_bytes);
	if (!row->unreachable)
		return;
	numbers->lost_bytes =
		saturate_add(numbers->lost_bytes, row->unreachable->lost.bytes);
	numbers->held_bytes =
		saturate_add(numbers->held_bytes, row->unreachable->held.bytes);
	numbers->possible_bytes =
		saturate_add(numbers->possible_bytes, row->unreachable->possible.bytes);
}

static uint64_t leaks_key(const struct numbers *n)
{
	return n->slope_bytes_per_s > 0 ? report_round(n->slope_bytes_per_s * 1000) + 1
					: 0;
}

static uint64_t bytes_key(const struct numbers *n)
{
	return n->bytes;
}

static uint64_t blocks_key(const struct numbers *n)
{
	return n->count;
}

static uint64_t growth_key(const struct numbers *n)
{
	return (uint64_t)n->growth_bytes ^ SIGN;
}

static uint64_t oldest_key(const struct numbers *n)
{
	return n->oldest_ns;
}

static uint64_t total_key(const struct numbers *n)
{
	return n->total_bytes;
}

static uint64_t allocated_key(const struct numbers *n)
{
	return n->allocated_bytes;
}

static uint64_t peak_key(const struct numbers *n)
{
	return n->at_peak_bytes ? n->at_peak_bytes : n->peak_bytes;
}

static uint64_t lost_key(const struct numbers *n)
{
	return saturate_add(n->lost_bytes, n->held_bytes);
}

static uint64_t delta_key(const struct numbers *n)
{
	return (uint64_t)n->delta_bytes ^ SIGN;
}

static const struct {
	const char *name;
	unsigned needs;
	uint64_t (*key)(const struct numbers *n);
} sorts[SCREEN_SORTS] = {
	[SCREEN_SORT_LEAKS] = {"leaks first", 0, leaks_key},
	[SCREEN_SORT_BYTES] = {"bytes", 0, bytes_key},
	[SCREEN_SORT_BLOCKS] = {"blocks", 0, blocks_key},
	[SCREEN_SORT_GROWTH] = {"growth", 0, growth_key},
	[SCREEN_SORT_OLDEST] = {"oldest", 0, oldest_key},
	[SCREEN_SORT_TOTAL] = {"with callees", 0, total_key},
	[SCREEN_SORT_ALLOCATED] = {"allocated", REPORT_DATA_TRAFFIC, allocated_key},
	[SCREEN_SORT_PEAK] = {"peak", REPORT_DATA_TRAFFIC, peak_key},
	[SCREEN_SORT_SINCE_MARK] = {"since the mark", 0, delta_key},
	[SCREEN_SORT_LOST] = {"lost", REPORT_DATA_UNREACHABLE, lost_key},
};

const char *screen_sort_name(enum screen_sort sort)
{
	return sorts[sort].name;
}

unsigned screen_sort_needs(enum screen_sort sort)
{
	return sorts[sort].needs;
}

static int compare(uint64_t a, uint64_t b)
{
	return a > b ? -1 : a < b;
}

int numbers_compare(const struct numbers *a, const struct numbers *b,
		    enum screen_sort sort)
{
	int order = compare(sorts[sort].key(a), sorts[sort].key(b));

	if (!order)
		order = compare(a->bytes, b->bytes);
	return order ? order : compare(a->count, b->count);
}
