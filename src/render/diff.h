/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What two snapshots differ in, in every format that can show it; a flame graph is
 * flame_render() of report_diff.graph. Numbers of sampled blocks are scaled.
 */
#ifndef RENDER_DIFF_H
#define RENDER_DIFF_H

#include <stdio.h>

#include "report/diff.h"
#include "util/error.h"

struct diff_renderer {
	const char *name; /* "text", "json", "csv" or "collapsed" */
	/* Write it all. The caller flushes and checks `out`. */
	struct error *(*render)(const struct report_diff *diff, FILE *out)
		__attribute__((warn_unused_result));
};

/* The renderer of that name, or NULL. Static. */
const struct diff_renderer *diff_renderer_find(const char *name);

#endif
