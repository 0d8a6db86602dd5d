/* SPDX-License-Identifier: Apache-2.0 */
/* The flame graph, with its choices. */
#ifndef RENDER_FLAME_H
#define RENDER_FLAME_H

#include <stdio.h>

#include "report/report.h"
#include "util/error.h"
#include "util/strbuf.h"

struct flame_options {
	bool inverted; /* the root is at the top ("icicle") */
	bool reverse;  /* paths are merged from the leaf on, which is next to the root */
	/* The report is the graph of a difference (report/diff.h) to this one: frames
	   are red where there is more than before, blue where there is less, and as wide
	   as the larger of both. NULL: it is none. */
	const struct report *old;
	/* An <svg class="flame"> for a page in HTML, which has the title, the losses, the
	   style and, once the frames are there, the script. */
	bool is_part;
};

/*
 * Write an SVG (1.1) that is whole in itself: no other file is loaded. The width of a
 * frame is its share of the bytes of all rows; frames of less than a tenth of a pixel,
 * or where that would be more than 20,000, of less than a fifth, and so on, are not
 * drawn, which the page says, but are part of those that called them. Order and colours
 * depend on names only. A script (flame.js) zooms, searches and shows numbers; without
 * it, and printed, the graph and its labels can be read. Every frame is
 *
 *     <g class="f" data-l="LEVEL" data-o="BYTES BEFORE IT" data-b="BYTES"
 * data-n="BLOCKS">
 *
 * with level 0 for the one frame of all memory. The caller flushes and checks `out`.
 */
struct error *flame_render(const struct report *report,
			   const struct flame_options *options, FILE *out)
	__attribute__((warn_unused_result));

/* The script. It has neither "</script" nor "<!--", so that it can stand in HTML. Static.
 * */
const char *flame_script(void);

/* Append one line on what the frames stand for: "heap: 1.5 MiB in 7 blocks; ...". */
void flame_describe(struct strbuf *out, const struct report *report,
		    const struct flame_options *options);

#endif
