/* SPDX-License-Identifier: Apache-2.0 */
/* The brief report while it is being written: lines that fit the terminal. Private to
 * render/. */
#ifndef RENDER_TEXT_BRIEF_PAGE_H
#define RENDER_TEXT_BRIEF_PAGE_H

#include "render/text/page.h"
#include "render/text/width.h"

struct brief_page {
	const struct report *report;
	struct strbuf text;
	size_t columns; /* of a line at most */
	size_t used;    /* columns of the current line */
	size_t lines;   /* lines that were ended */
};

/* Prepare an empty page. The caller calls strbuf_deinit() on its text. */
void brief_page_init(struct brief_page *page, const struct report *report);

/* The columns that are left on the current line. */
size_t brief_room(const struct brief_page *page);

/* Append text to the current line; it is cut if the line is full. */
void brief_put(struct brief_page *page, enum text_style style, const char *text);
void brief_putf(struct brief_page *page, enum text_style style, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Append words. Those that do not fit go to further lines, which begin with `indent`
 * columns. A number stays together with the word behind it. */
void brief_put_words(struct brief_page *page, enum text_style style, size_t indent,
		     const char *text);

/* Append "  label     " and then words, whose further lines are indented likewise. On a
 * narrow terminal they are not indented as much. */
void brief_put_labelled(struct brief_page *page, const char *label, const char *text);

/* Append spaces up to a column, at least one. */
void brief_indent(struct brief_page *page, size_t column);

void brief_end_line(struct brief_page *page);

#endif
