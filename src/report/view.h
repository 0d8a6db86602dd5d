/* SPDX-License-Identifier: Apache-2.0 */
/* A reduced view of a report. */
#ifndef REPORT_VIEW_H
#define REPORT_VIEW_H

#include "report/report.h"

/*
 * Reduce `report` to the `top`, `past`, `singles` and `show_blocks` of `options`. These
 * must not ask for more than the report was built with. The other options must be the
 * same, except those for the text report. The result refers to the report and must not be
 * destroyed. Fails only if memory is out.
 */
struct error *report_view(const struct report *report,
			  const struct report_options *options, struct report *ret)
	__attribute__((warn_unused_result));

#endif
