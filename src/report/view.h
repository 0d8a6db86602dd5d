/* SPDX-License-Identifier: Apache-2.0 */
/* One report, shown in less than it has. */
#ifndef REPORT_VIEW_H
#define REPORT_VIEW_H

#include "report/report.h"

/*
 * `report` as it would be with the `top`, `past`, `singles` and `show_blocks` of
 * `options`, which must ask for no more than those that it was built with; its other
 * options have to be the same, but for those that are for the text alone.
 * The view refers to the report and is not to be destroyed. Fails only when memory is
 * out.
 */
struct error *report_view(const struct report *report,
			  const struct report_options *options, struct report *ret)
	__attribute__((warn_unused_result));

#endif
