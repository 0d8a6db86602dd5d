/* SPDX-License-Identifier: Apache-2.0 */
/* One pattern of a filter. Private to frames/. */
#ifndef FRAMES_FILTER_PATTERN_H
#define FRAMES_FILTER_PATTERN_H

#include "frames/filter.h"

/* The parts of a frame that a pattern is compared with. */
enum filter_place {
	FILTER_FUNCTION = 1 << 0,
	FILTER_MODULE = 1 << 1,
	FILTER_SOURCE = 1 << 2,
};

struct filter_pattern {
	unsigned places; /* set of enum filter_place; one match is enough */
	char *glob;
	/* The name of a function also matches by its short form (frames/short_name.h) and
	 * without leading scopes: "add", "Shop::add" and "acme::Shop::add" all match
	 * "void acme::Shop::add<int>(int)". */
	bool by_short_name;
};

/* Parse "fn:GLOB" and the like (frames/filter.h). ERROR_USAGE says what is wrong. */
struct error *filter_pattern_init(const char *text, struct filter_pattern *ret)
	__attribute__((warn_unused_result));

/* Convert the TEMPLATE of a suppression. */
struct error *filter_pattern_init_template(const char *text, struct filter_pattern *ret)
	__attribute__((warn_unused_result));

void filter_pattern_deinit(struct filter_pattern *pattern);

bool filter_pattern_matches(const struct filter_pattern *pattern,
			    const struct report_frame *frame);

/* Add a suppression, given its TEMPLATE. */
struct error *report_filter_add_template(struct report_filter *filter, const char *text)
	__attribute__((warn_unused_result));

#endif
