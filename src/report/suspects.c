// SPDX-License-Identifier: Apache-2.0
/* What is a suspect: struct report_suspect. */
#include "report/build.h"

#define INTERVALS_MIN      4
#define DETERMINATION_MIN  0.8
#define DETERMINATION_MAX  1.001 /* 1 and what rounding may add */
#define INTERVALS_MANY     10
#define DETERMINATION_GOOD 0.95
#define SHRANK_SHARE       10 /* of so many intervals one */
#define STANDS_GAPS        2  /* so many times the mean distance of two growths */
#define GROWTH_SHARE       20 /* this part of what is held */
#define FALLS              2  /* so many times what it ever gave back */

double report_suspicion(const struct report *report, const struct report_row *row)
{
	const struct snapshot_trend *trend = row->trend;
	double seconds = (double)report->elapsed_ns / 1e9, held;

	/* Numbers of a file may be anything: what is not a number fails here. */
	if (!trend || !row->sum.size_bytes || trend->intervals < INTERVALS_MIN ||
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
