// SPDX-License-Identifier: Apache-2.0
#include "screen/views.h"

#include "report/report.h"

#define LIVE                                                                             \
	(COLUMN(COLUMN_BYTES) | COLUMN(COLUMN_BLOCKS) | COLUMN(COLUMN_GROWTH) |          \
	 COLUMN(COLUMN_OLDEST) | COLUMN(COLUMN_SHARE) | COLUMN(COLUMN_NAME) |            \
	 COLUMN(COLUMN_MODULE))

static uint64_t live_part(const struct numbers *numbers)
{
	return numbers->bytes;
}

static uint64_t growth_part(const struct numbers *numbers)
{
	return numbers->growth_bytes > 0 ? (uint64_t)numbers->growth_bytes : 0;
}

static uint64_t allocated_part(const struct numbers *numbers)
{
	return numbers->allocated_bytes;
}

static uint64_t peak_part(const struct numbers *numbers)
{
	return numbers->at_peak_bytes ? numbers->at_peak_bytes : numbers->peak_bytes;
}

static uint64_t lost_part(const struct numbers *numbers)
{
	return numbers->lost_bytes + numbers->held_bytes;
}

static const struct screen_view_ops views_of[SCREEN_VIEWS] = {
	[SCREEN_VIEW_CAUSES] = {"causes", 0, LIVE, SCREEN_SORT_LEAKS, live_part},
	[SCREEN_VIEW_STACKS] = {"stacks", 0, LIVE, SCREEN_SORT_BYTES, live_part},
	[SCREEN_VIEW_TREE] = {"tree", 0, LIVE, SCREEN_SORT_BYTES, live_part},
	[SCREEN_VIEW_FUNCTIONS] = {"functions", 0, LIVE | COLUMN(COLUMN_TOTAL),
				   SCREEN_SORT_BYTES, live_part},
	[SCREEN_VIEW_GROWTH] = {"growth", 0, LIVE, SCREEN_SORT_GROWTH, growth_part},
	[SCREEN_VIEW_TRAFFIC] = {"traffic", REPORT_DATA_TRAFFIC,
				 COLUMN(COLUMN_ALLOCATED) | COLUMN(COLUMN_FREED) |
					 COLUMN(COLUMN_RATE) | COLUMN(COLUMN_BYTES) |
					 COLUMN(COLUMN_SHARE) | COLUMN(COLUMN_NAME) |
					 COLUMN(COLUMN_MODULE),
				 SCREEN_SORT_ALLOCATED, allocated_part},
	[SCREEN_VIEW_PEAK] = {"peak", REPORT_DATA_TRAFFIC,
			      COLUMN(COLUMN_AT_PEAK) | COLUMN(COLUMN_PEAK) |
				      COLUMN(COLUMN_BYTES) | COLUMN(COLUMN_SHARE) |
				      COLUMN(COLUMN_NAME) | COLUMN(COLUMN_MODULE),
			      SCREEN_SORT_PEAK, peak_part},
	[SCREEN_VIEW_THREADS] = {"threads", REPORT_DATA_TRAFFIC,
				 COLUMN(COLUMN_BYTES) | COLUMN(COLUMN_BLOCKS) |
					 COLUMN(COLUMN_ALLOCATED) | COLUMN(COLUMN_FREED) |
					 COLUMN(COLUMN_SHARE) | COLUMN(COLUMN_NAME),
				 SCREEN_SORT_BYTES, live_part},
	[SCREEN_VIEW_PROCESSES] = {"processes", 0,
				   COLUMN(COLUMN_BYTES) | COLUMN(COLUMN_BLOCKS) |
					   COLUMN(COLUMN_GROWTH) | COLUMN(COLUMN_SHARE) |
					   COLUMN(COLUMN_NAME),
				   SCREEN_SORT_BYTES, live_part},
	[SCREEN_VIEW_UNREACHABLE] = {"unreachable", REPORT_DATA_UNREACHABLE,
				     COLUMN(COLUMN_LOST) | COLUMN(COLUMN_HELD) |
					     COLUMN(COLUMN_POSSIBLE) |
					     COLUMN(COLUMN_BYTES) | COLUMN(COLUMN_SHARE) |
					     COLUMN(COLUMN_NAME) | COLUMN(COLUMN_MODULE),
				     SCREEN_SORT_LOST, lost_part},
};

const struct screen_view_ops *screen_view_of(enum screen_view view)
{
	return &views_of[view];
}
