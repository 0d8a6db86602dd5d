/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Renderers for the difference between two snapshots. For a flame graph, pass
 * report_diff.graph to flame_render(). Numbers of sampled blocks are scaled.
 */
#ifndef RENDER_DIFF_H
#define RENDER_DIFF_H

#include <stdio.h>

#include "diff/diff.h"
#include "util/error.h"

struct diff_renderer {
	const char *name; /* "text", "json", "csv" or "collapsed" */
	/* Write the whole difference. The caller flushes and checks `out`. */
	struct error *(*render)(const struct report_diff *diff, FILE *out)
		__attribute__((warn_unused_result));
};

#endif
