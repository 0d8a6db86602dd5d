/* SPDX-License-Identifier: Apache-2.0 */
/* One ops table for every output format. A renderer turns a report into bytes. */
#ifndef RENDER_RENDERER_H
#define RENDER_RENDERER_H

#include <stdio.h>

#include "report/report.h"
#include "util/error.h"

struct flame_options;

struct renderer {
	const char *name; /* as in --format NAME */
	/* Write one report. The caller flushes `out` and checks it for failed writes. */
	struct error *(*render)(const struct report *report, FILE *out)
		__attribute__((warn_unused_result));
	/* The same with options of the flame graph in it. NULL: the format has none. */
	struct error *(*render_graph)(const struct report *report,
				      const struct flame_options *options, FILE *out)
		__attribute__((warn_unused_result));
};

#endif
