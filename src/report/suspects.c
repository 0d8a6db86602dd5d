// SPDX-License-Identifier: Apache-2.0
/* Decides which rows are suspects; struct report_suspect explains the conditions. */
#include "report/build.h"

#define DETERMINATION_MIN  0.8
#define DETERMINATION_MAX  1.001 /* 1, plus rounding errors */
#define INTERVALS_MANY     10
#define DETERMINATION_GOOD 0.95
#define SHRANK_SHARE       10 /* one interval in this many may shrink */
#define STANDS_GAPS        2  /* times the mean distance between growing intervals */
#define GROWTH_SHARE       20 /* one part in this many of what is held */
#define FALLS              2  /* times the deepest fall */

double report_suspicion(const struct report *report, const struct report_row *row)
{
	const struct snapshot_trend *trend = row->trend;
	double seconds = (double)report->elapsed_ns / 1e9, held;

	/* Numbers from a file may be anything; NaN fails these tests. */
	if (!trend || !row->sum.size_bytes ||
	    trend->intervals < REPORT_SUSPECT_INTERVALS ||
	    !(trend->slope_bytes_per_s > 0) ||
	    !(trend->determination >= DETERMINATION_MIN &&
	      trend->determination <= DETERMINATION_MAX))
		return 0;
	if ((uint64_t)trend->shrank * SHRANK_SHARE > trend->intervals &&
	    (trend->intervals < INTERVALS_MANY ||
	     trend->determination < DETERMINATION_GOOD))
		return 0;
	if ((uint64_t)trend->stands * trend->grew >
	    (uint64_t)STANDS_GAPS * trend->intervals)
		return 0;
	if (trend->rise_bytes / FALLS < trend->fall_bytes)
		return 0;
	held = (double)row->sum.estimated_bytes;
	if (trend->slope_bytes_per_s * seconds < held / GROWTH_SHARE)
		return 0;
	return trend->slope_bytes_per_s * trend->determination;
}
