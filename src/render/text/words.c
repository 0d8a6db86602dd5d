// SPDX-License-Identifier: Apache-2.0
#include "render/text/words.h"

#include <string.h>

#include "render/text/width.h"

#define TAB_COLUMNS 8

/* --- measuring ---------------------------------------------------------------------- */

/* Length of the escape sequence at `at`, such as "\033[1m"; 0: no escape sequence. */
static size_t escape_len(const char *at, const char *end)
{
	const char *m = at;

	if (end - at < 2 || at[0] != '\033' || at[1] != '[')
		return 0;
	while (m < end && *m != 'm')
		m++;
	return m < end ? (size_t)(m + 1 - at) : 0;
}

/* Bytes of the text before the next escape sequence. */
static size_t plain_len(const char *at, const char *end)
{
	const char *escape = memchr(at + 1, '\033', (size_t)(end - at) - 1);

	return escape ? (size_t)(escape - at) : (size_t)(end - at);
}

static size_t word_width(const char *at, const char *end, bool utf8)
{
	size_t width = 0, len;

	for (; at < end; at += len) {
		len = escape_len(at, end);
		if (len)
			continue;
		len = plain_len(at, end);
		width += text_width(at, len, utf8);
	}
	return width;
}

/* Bytes of the character at `at`, of well-formed UTF-8. */
static size_t char_len(const char *at, const char *end)
{
	size_t len = 1;

	while (at + len < end && ((unsigned char)at[len] & 0xc0) == 0x80)
		len++;
	return len;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static const char *word_end(const char *at, const char *end)
{
	while (at < end && *at != ' ' && *at != '\t')
		at++;
	return at;
}

/* The end of the word at `at`, or of a number and the word behind it: "1.5 s". */
static const char *unit_end(const char *at, const char *end)
{
	const char *after = word_end(at, end);
	const char *digits = at + (*at == '(');

	digits += digits < end && (*digits == '+' || *digits == '-');
	if (digits < end && is_digit(*digits) && end - after > 1 && *after == ' ' &&
	    after[1] != ' ' && after[1] != '\t')
		return word_end(after + 1, end);
	return after;
}

/* Columns of the blanks and tabs at `*at`, from column `used` on; moves behind them. */
size_t words_skip_blanks(const char **at, const char *end, size_t used)
{
	size_t column = used;

	for (; *at < end && (**at == ' ' || **at == '\t'); (*at)++)
		column += **at == ' ' ? 1 : TAB_COLUMNS - column % TAB_COLUMNS;
	return column - used;
}

size_t words_first_width(const char *at, const char *end, bool utf8)
{
	return word_width(at, unit_end(at, end), utf8);
}

/* --- lines -------------------------------------------------------------------------- */

void words_indent(struct word_line *line, size_t columns)
{
	for (size_t i = 0; i < columns; i++)
		strbuf_append_char(line->out, ' ');
	line->used = columns;
	line->has_word = false;
}

/* Some pagers reset colours at the end of a line, so each line has its own. */
static void begin_style(struct word_line *line)
{
	text_append_style(line->out, line->color, line->style);
}

static void end_style(struct word_line *line)
{
	text_append_style(line->out, line->color, TEXT_PLAIN);
}

/* Begin a line for a word, indented less if that lets the word fit. */
static void break_line(struct word_line *line, size_t width)
{
	size_t most = width < line->columns ? line->columns - width : line->indent;

	if (line->has_word)
		end_style(line);
	while (!line->has_word && line->out->len &&
	       line->out->data[line->out->len - 1] == ' ')
		line->out->len--;
	strbuf_append_char(line->out, '\n');
	line->lines++;
	words_indent(line, most < line->indent ? most : line->indent);
}

/* Put a word that is wider than a line. */
static void put_broken(struct word_line *line, const char *at, const char *end)
{
	while (at < end) {
		size_t len = escape_len(at, end), width = 0;

		if (!len) {
			len = line->utf8 ? char_len(at, end) : 1;
			width = text_width(at, len, line->utf8);
		}
		if (line->used + width > line->columns && line->used > line->indent) {
			break_line(line, line->columns);
			begin_style(line);
			line->has_word = true;
		}
		strbuf_append_bytes(line->out, at, len);
		line->used += width;
		at += len;
	}
}

static void put_cut(struct word_line *line, const char *at, const char *end)
{
	struct strbuf word = {0};

	strbuf_append_bytes(&word, at, (size_t)(end - at));
	text_append_within(line->out, strbuf_text(&word), line->columns - line->used,
			   line->utf8);
	line->out->failed |= word.failed;
	strbuf_deinit(&word);
	line->used = line->columns;
}

/* Put a word and the `blanks` columns before it. */
static void put_word(struct word_line *line, size_t blanks, const char *at,
		     const char *end)
{
	size_t width = word_width(at, end, line->utf8);
	bool is_over = line->used + blanks + width > line->columns;

	if (is_over && (line->has_word || (line->cuts && line->used > line->indent))) {
		break_line(line, width);
		blanks = 0;
	}
	if (!line->has_word)
		begin_style(line);
	for (size_t i = 0; i < blanks; i++)
		strbuf_append_char(line->out, ' ');
	line->used += blanks;
	line->has_word = true;
	if (line->used + width <= line->columns) {
		strbuf_append_bytes(line->out, at, (size_t)(end - at));
		line->used += width;
	} else if (line->cuts) {
		put_cut(line, at, end);
	} else {
		put_broken(line, at, end);
	}
}

void words_put(struct word_line *line, const char *at, const char *end)
{
	size_t blanks = 0;

	while (at < end) {
		const char *word = at;

		at = unit_end(at, end);
		if (word_width(word, at, line->utf8) > line->columns - line->indent)
			at = word_end(word, end);
		put_word(line, blanks, word, at);
		blanks = words_skip_blanks(&at, end, line->used);
		if (line->cuts && blanks)
			blanks = 1;
	}
	if (line->has_word)
		end_style(line);
}
