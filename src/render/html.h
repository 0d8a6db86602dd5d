/* SPDX-License-Identifier: Apache-2.0 */
/* The summary: one page in HTML with everything that a report has. */
#ifndef RENDER_HTML_H
#define RENDER_HTML_H

#include <stdio.h>

#include "render/flame.h"
#include "report/report.h"
#include "util/error.h"

/*
 * Write a page (HTML living standard, UTF-8) that is whole in itself: totals, the course
 * of the run, stacks, the flame graph, sizes, ages, threads. Its policy (Content Security
 * Policy 3, in a meta element) lets run the one script of the flame graph and apply the
 * one style sheet, both known by their hashes, and load nothing. What the target has
 * named is escaped (util/escape.h, then render/xml.h) and stands only between tags. Equal
 * reports give equal pages. The caller flushes and checks `out`.
 */
struct error *html_render(const struct report *report,
			  const struct flame_options *options, FILE *out)
	__attribute__((warn_unused_result));

#endif
