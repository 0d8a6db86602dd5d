/* SPDX-License-Identifier: Apache-2.0 */
/* The screen as text: lines of pieces with a style. What draws it knows no more. */
#ifndef SCREEN_CANVAS_H
#define SCREEN_CANVAS_H

#include <stdbool.h>
#include <stddef.h>

#include "util/strbuf.h"
#include "util/vec.h"

enum canvas_style {
	CANVAS_PLAIN,
	CANVAS_TITLE,
	CANVAS_HEADING, /* of the table */
	CANVAS_DIM,
	CANVAS_WARNING, /* leak suspects, losses */
	CANVAS_BAR,     /* bars and sparklines */
	CANVAS_KEY,     /* in the last line and in the help */
	CANVAS_STYLES,
};

struct canvas_piece {
	unsigned x, y; /* from 0 */
	unsigned width;
	enum canvas_style style;
	bool is_selected; /* shown inverted */
	size_t text;      /* offset in canvas.texts, of a text ended by NUL */
};

struct canvas {
	unsigned columns, lines;
	bool utf8;
	VEC(struct canvas_piece) pieces; /* later ones hide earlier ones */
	struct strbuf texts;             /* failed if memory is out, also for `pieces` */
};

/* Make the canvas empty. */
void canvas_begin(struct canvas *canvas, unsigned columns, unsigned lines, bool utf8);
void canvas_deinit(struct canvas *canvas);

/* Put text, which must be escaped (util/escape.h), into `width` columns from x on. Wider
 * text is cut in its middle. Returns the columns that it takes. */
unsigned canvas_put(struct canvas *canvas, unsigned x, unsigned y, unsigned width,
		    enum canvas_style style, const char *text);
unsigned canvas_putf(struct canvas *canvas, unsigned x, unsigned y, unsigned width,
		     enum canvas_style style, const char *format, ...)
	__attribute__((format(printf, 6, 7)));
/* The same at the right edge of these columns. */
void canvas_put_right(struct canvas *canvas, unsigned x, unsigned y, unsigned width,
		      enum canvas_style style, const char *text);

/* Show a line from x on, `width` columns, inverted. */
void canvas_select(struct canvas *canvas, unsigned x, unsigned y, unsigned width);

/* Append a sparkline of `count` values to `out`: one column for each. */
void canvas_append_spark(struct strbuf *out, const double values[], size_t count,
			 bool utf8);
/* Append a bar of at most `width` columns for the share of `part` in `whole`. */
void canvas_append_bar(struct strbuf *out, double part, double whole, unsigned width,
		       bool utf8);

/* The canvas as lines of text, without styles and without spaces at the ends of lines. */
void canvas_append_text(const struct canvas *canvas, struct strbuf *out);

#endif
