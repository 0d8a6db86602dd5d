/* SPDX-License-Identifier: Apache-2.0 */
/* Breaks text into lines at blanks. Private to render/. */
#ifndef RENDER_TEXT_WORDS_H
#define RENDER_TEXT_WORDS_H

#include "render/text/style.h"

/* The line that is being written. */
struct word_line {
	struct strbuf *out;
	size_t columns; /* of a line at most */
	size_t used;    /* columns of this line */
	size_t indent;  /* columns before the words of further lines */
	size_t lines;   /* lines that were ended */
	bool utf8;      /* non-ASCII characters are allowed */
	bool cuts;      /* a word that is wider than a line loses its middle; else
			   it is broken */
	bool has_word;  /* behind the indent */
	bool color;     /* use `style` for the words of each line */
	enum text_style style;
};

/*
 * Append the words from `at` to `end`. Words that do not fit go to further lines. A
 * number stays together with the word behind it ("1.5 s") unless both are wider than a
 * line. Blanks between words are kept, and with `cuts` become one. Escape sequences for
 * colours in the text have no width.
 */
void words_put(struct word_line *line, const char *at, const char *end);

/* Append blanks up to a column. */
void words_indent(struct word_line *line, size_t columns);

/* Columns of the blanks and tabs at `*at`, from column `used` on; moves behind them. */
size_t words_skip_blanks(const char **at, const char *end, size_t used);

/* Columns of the first word of the text, or of a number and the word behind it. */
size_t words_first_width(const char *at, const char *end, bool utf8);

#endif
