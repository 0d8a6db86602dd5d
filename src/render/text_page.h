/* SPDX-License-Identifier: Apache-2.0 */
/* A text report while it is made, and what its parts share. Private to render/. */
#ifndef RENDER_TEXT_PAGE_H
#define RENDER_TEXT_PAGE_H

#include <stdio.h>

#include "render/frame_texts.h"
#include "report/report.h"
#include "util/strbuf.h"
#include "util/units.h"

struct text_page {
	struct strbuf text; /* what was not written yet */
	const struct report *report;
	FILE *out;
	struct frame_texts frames; /* a line each */
	struct units_text clock;   /* local time of the snapshot, "03:04:05" */
};

/* Colours; they are written only where report.options.color says so. */
enum text_style {
	TEXT_PLAIN, /* back to normal */
	TEXT_TITLE,
	TEXT_HEADING,
	TEXT_NUMBER,
	TEXT_FUNCTION,
	TEXT_DIM,
	TEXT_WARNING,
};
void text_append_style(struct strbuf *text, bool color, enum text_style style);
void text_set_style(struct text_page *page, enum text_style style);

/* "  label         text\n", the text printf-style and without anything of the target's
 * choosing. */
void text_append_line(struct text_page *page, const char *label, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* An empty line and "[clock] heading:\n", the heading printf-style. */
void text_append_heading(struct text_page *page, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A bar that shows the share of `n` in `most`, `width` columns long for all of it and
 * never empty for any of it. */
void text_append_bar(struct text_page *page, uint64_t n, uint64_t most, unsigned width);

/* Write what has gathered, if that is much, as a list may be long. */
void text_flush_some(struct text_page *page);

#endif
