/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a flame graph around the frames. Lengths are in pixels. Private to
 * render/. */
#ifndef RENDER_FLAME_PAGE_H
#define RENDER_FLAME_PAGE_H

#include "render/flame/flame.h"
#include "render/flame/palette.h"
#include "render/paths.h"
#include "util/strbuf.h"

#define FLAME_WIDTH  1200
#define FLAME_MARGIN 10
#define FLAME_ROW    16
#define FLAME_TOP    84 /* top of the frames */
/* Top of the part that remains in an HTML page, which has its own title and buttons. */
#define FLAME_PART_TOP (FLAME_TOP - 4)

struct flame_page {
	const struct report *report;
	const struct flame_options *options;
	const struct flame_palette *palette; /* of the visible frames */
	uint64_t total_bytes;
	uint64_t live_bytes; /* percentages are of this */
	size_t levels;       /* of visible frames */
	size_t omitted; /* frames that are omitted because they are below least_bytes */
	uint64_t least_bytes;
};

/* Are widths hits of an event instead of bytes? */
bool flame_is_counted(const struct flame_page *page);

/* Append everything before the frames, and everything after them. */
void flame_page_begin(struct strbuf *out, const struct flame_page *page);
void flame_page_end(struct strbuf *out, const struct flame_page *page);

#endif
