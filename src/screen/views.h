/* SPDX-License-Identifier: Apache-2.0 */
/* The views of the table. */
#ifndef SCREEN_VIEWS_H
#define SCREEN_VIEWS_H

#include "screen/layout.h"
#include "screen/model.h"

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
