/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of a line of the table, and the orders that lines can be sorted in. */
#ifndef SCREEN_NUMBERS_H
#define SCREEN_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

#include "report/report.h"

/* Sums over call paths; estimates if blocks were sampled. */
struct numbers {
	uint64_t bytes, count; /* live */
	int64_t growth_bytes;  /* since the previous report */
	uint64_t oldest_ns;    /* age of the oldest block */
	uint64_t total_bytes;  /* of functions: also what their callees hold */
	uint64_t allocated_bytes, freed_bytes; /* since the attach */
	double allocated_rate;                 /* bytes per second, since the previous
						  report */
	uint64_t at_peak_bytes;                /* live when the heap was largest */
	uint64_t peak_bytes; /* maximum; for several call paths the sum of their maxima */
	/* Result of a search for unreachable blocks, as traced (struct
	 * snapshot_unreachable). */
	uint64_t lost_bytes, held_bytes, possible_bytes;
	int64_t delta_bytes;      /* since the mark */
	double slope_bytes_per_s; /* growth of a leak suspect; 0: not a suspect */
};

/* Add what a call path holds. `delta_bytes` is left to the caller. */
void numbers_add_row(struct numbers *numbers, const struct report_row *row);

/* Largest first. */
enum screen_sort {
	SCREEN_SORT_LEAKS, /* leak suspects, steepest first; then bytes */
	SCREEN_SORT_BYTES,
	SCREEN_SORT_BLOCKS,
	SCREEN_SORT_GROWTH,
	SCREEN_SORT_OLDEST,
	SCREEN_SORT_TOTAL,
	SCREEN_SORT_ALLOCATED,
	SCREEN_SORT_PEAK,
	SCREEN_SORT_SINCE_MARK,
	SCREEN_SORT_LOST,
	SCREEN_SORTS,
};

/* The name of an order. Static string. */
const char *screen_sort_name(enum screen_sort sort);
/* The data that it needs: a set of enum report_data. */
unsigned screen_sort_needs(enum screen_sort sort);

/* Below 0: `a` comes first. */
int numbers_compare(const struct numbers *a, const struct numbers *b,
		    enum screen_sort sort);

#endif
