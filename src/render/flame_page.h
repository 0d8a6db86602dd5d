/* SPDX-License-Identifier: Apache-2.0 */
/* What surrounds the frames of a flame graph. Lengths are in pixels. Private to
 * render/. */
#ifndef RENDER_FLAME_PAGE_H
#define RENDER_FLAME_PAGE_H

#include "render/flame.h"
#include "render/paths.h"
#include "util/strbuf.h"

#define FLAME_WIDTH  1200
#define FLAME_MARGIN 10
#define FLAME_ROW    16
#define FLAME_TOP    84 /* where the frames begin */
/* What a page in HTML says itself is above this. */
#define FLAME_PART_TOP 56

struct flame_page {
	const struct report *report;
	const struct flame_options *options;
	const struct names *names;
	const bool *drawn; /* by id of name */
	uint64_t total_bytes;
	size_t levels;  /* of frames */
	size_t omitted; /* frames that are not drawn: less than least_bytes */
	uint64_t least_bytes;
};

/* Append everything before the frames, and everything behind them. */
void flame_page_begin(struct strbuf *out, const struct flame_page *page);
void flame_page_end(struct strbuf *out, const struct flame_page *page);

/* The colour of frames in a module (escaped text, "": none), as "#rrggbb". */
struct flame_colour {
	char s[8];
};
struct flame_colour flame_colour(const char *module);

/* White where as much is there as before, up to red where all is new, or blue where all
 * has gone. */
struct flame_colour flame_difference_colour(uint64_t old_bytes, uint64_t new_bytes);

#endif
