/* SPDX-License-Identifier: Apache-2.0 */
/* Slopes in one unit, so that they can be compared at a glance. Private to render/. */
#ifndef RENDER_BRIEF_RATE_H
#define RENDER_BRIEF_RATE_H

#include "util/units.h"

struct brief_rate {
	double unit_bytes_per_s; /* of "MiB/min": 2^20 / 60 */
	const char *bytes, *span;
};

/* The most readable unit of the largest slope. */
void brief_rate_init(struct brief_rate *ret, double largest_bytes_per_s);

/* "9.2 MiB/min"; "<0.1 MiB/min" for less than a tenth that is not 0. */
struct units_text brief_rate_format(const struct brief_rate *rate, double bytes_per_s);

#endif
