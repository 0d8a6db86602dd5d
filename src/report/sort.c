// SPDX-License-Identifier: Apache-2.0
#include "report/build.h"

static uint64_t size_key(const struct report_row *row)
{
	return row->sum.estimated_bytes;
}

static uint64_t count_key(const struct report_row *row)
{
	return row->sum.estimated_count;
}

static uint64_t traffic_key(const struct report_row *row)
{
	return row->flow.allocated_bytes;
}

/* Maps signed numbers to unsigned ones in the same order. */
static uint64_t growth_key(const struct report_row *row)
{
	return (uint64_t)row->estimated_growth_bytes ^ (UINT64_C(1) << 63);
}

static uint64_t age_key(const struct report_row *row)
{
	return row->oldest_age_ns;
}

static uint64_t peak_key(const struct report_row *row)
{
	return row->peak_bytes;
}

static uint64_t at_peak_key(const struct report_row *row)
{
	return row->at_peak_bytes;
}

static uint64_t temporary_key(const struct report_row *row)
{
	return row->flow.temporary;
}

static const struct {
	const char *name;
	unsigned needs;
	uint64_t (*key)(const struct report_row *row);
} sorts[REPORT_SORTS] = {
	[REPORT_SORT_SIZE] = {"size", 0, size_key},
	[REPORT_SORT_COUNT] = {"count", 0, count_key},
	[REPORT_SORT_TRAFFIC] = {"traffic", REPORT_DATA_TRAFFIC, traffic_key},
	[REPORT_SORT_GROWTH] = {"growth", 0, growth_key},
	[REPORT_SORT_AGE] = {"age", 0, age_key},
	[REPORT_SORT_PEAK] = {"peak", REPORT_DATA_TRAFFIC, peak_key},
	[REPORT_SORT_AT_PEAK] = {"at-peak", REPORT_DATA_AT_PEAK, at_peak_key},
	[REPORT_SORT_TEMPORARY] = {"temporary", REPORT_DATA_TRAFFIC, temporary_key},
	[REPORT_SORT_LOST] = {"lost", REPORT_DATA_UNREACHABLE, report_row_lost_bytes},
	[REPORT_SORT_CUMULATIVE] = {"cumulative", 0, size_key},
};

const char *report_sort_name(enum report_sort sort)
{
	return sorts[sort].name;
}

unsigned report_sort_needs(enum report_sort sort)
{
	return sorts[sort].needs;
}

struct sort_key report_sort_key(enum report_sort sort, const struct report_row *row)
{
	return (struct sort_key){sorts[sort].key(row), row->sum.estimated_bytes,
				 row->sum.estimated_count};
}
