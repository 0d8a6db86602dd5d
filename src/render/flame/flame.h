/* SPDX-License-Identifier: Apache-2.0 */
/* The flame graph and its options. */
#ifndef RENDER_FLAME_FLAME_H
#define RENDER_FLAME_FLAME_H

#include <stdio.h>

#include "report/report.h"
#include "util/error.h"
#include "util/strbuf.h"

struct flame_options {
	bool inverted; /* the root is at the top ("icicle graph") */
	bool reverse;  /* merge paths from the leaf, which is next to the root */
	/* The report is the graph of a difference (diff/diff.h) to this report. Frames
	 * are red if they hold more than before and blue if less; their width is the
	 * larger of both. NULL: not a difference. */
	const struct report *old;
	/* Write HTML elements for a page: buttons, an <svg class="flame"> and a legend.
	 * The page provides the title, the losses, the style and, after the graph, the
	 * script, which makes the graph as wide as the page. */
	bool is_part;
};

/*
 * Write a self-contained SVG (1.1); docs/formats.md, "The flame graph", describes it.
 * Order and colours depend on names only. The caller flushes and checks `out`. Every
 * frame is
 *     <g class="f" data-l="LEVEL" data-o="BYTES BEFORE IT" data-b="BYTES"
data-n="BLOCKS"> where level 0 is the single frame of all memory.
 */
struct error *flame_render(const struct report *report,
			   const struct flame_options *options, FILE *out)
	__attribute__((warn_unused_result));

/* The script. It contains neither "</script" nor "<!--", so it can be embedded in HTML.
 * Static. */
const char *flame_script(void);

/* Append a line that says what the frames mean: "heap: 1.5 MiB in 7 blocks; ...". */
void flame_describe(struct strbuf *out, const struct report *report,
		    const struct flame_options *options);

#endif
