/* SPDX-License-Identifier: Apache-2.0 */
/* The views of the table. */
#ifndef SCREEN_VIEWS_H
#define SCREEN_VIEWS_H

#include "screen/layout.h"
#include "screen/numbers.h"

enum screen_view {
	SCREEN_VIEW_CAUSES,
	SCREEN_VIEW_STACKS,
	SCREEN_VIEW_TREE,
	SCREEN_VIEW_FUNCTIONS,
	SCREEN_VIEW_GROWTH,
	SCREEN_VIEW_TRAFFIC,
	SCREEN_VIEW_PEAK,
	SCREEN_VIEW_THREADS,
	SCREEN_VIEW_PROCESSES,
	SCREEN_VIEW_UNREACHABLE,
	SCREEN_VIEWS,
};

struct screen_view_ops {
	const char *name;
	unsigned needs;   /* set of enum report_data */
	unsigned columns; /* set of COLUMN() */
	enum screen_sort sort;
	/* The number whose share of the total a bar shows. */
	uint64_t (*part)(const struct numbers *numbers);
};

/* Static. */
const struct screen_view_ops *screen_view_of(enum screen_view view);

#endif
