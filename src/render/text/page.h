/* SPDX-License-Identifier: Apache-2.0 */
/* A text report while it is being written, and helpers for its parts. Private to
 * render/. */
#ifndef RENDER_TEXT_PAGE_H
#define RENDER_TEXT_PAGE_H

#include <stdio.h>

#include "render/frame_texts.h"
#include "render/text/style.h"
#include "report/report.h"
#include "util/strbuf.h"
#include "util/units.h"

struct text_page {
	struct strbuf text; /* text not written yet */
	const struct report *report;
	FILE *out;
	struct frame_texts frames; /* the line of each frame */
	struct units_text clock;   /* local time of the snapshot, "03:04:05" */
};

/* Styles are written only if report.options.color is set. */
void text_set_style(struct text_page *page, enum text_style style);

/* Append "  label         text\n". The text is printf-style and must not contain text
 * that the target controls. */
void text_append_line(struct text_page *page, const char *label, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Append an empty line and "[clock] heading:\n". The heading is printf-style. */
void text_append_heading(struct text_page *page, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Append a bar for the share of `n` in `most`: `width` columns for all of it, and at
 * least one column if `n` is not 0. */
void text_append_bar(struct text_page *page, uint64_t n, uint64_t most, unsigned width);

/* Write the collected text to `out` if it is long, because a list may be very long. */
void text_flush_some(struct text_page *page);

#endif
