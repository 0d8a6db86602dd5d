// SPDX-License-Identifier: Apache-2.0
#include "render/text/wrap.h"

#include <string.h>

#include "render/text/brief_page.h"

#define TAB_COLUMNS   8
#define INDENT_MORE   4  /* of the second line and those that follow */
#define LABEL_COLUMNS 14 /* behind "  label       " text begins */

size_t text_columns(const struct report_options *options)
{
	size_t columns = options->columns ? options->columns : BRIEF_COLUMNS_DEFAULT;

	if (!options->is_terminal)
		return 0;
	return columns < BRIEF_COLUMNS_MIN ? BRIEF_COLUMNS_MIN : columns;
}

static bool is_short(enum report_form form, const struct report_options *options)
{
	return form == REPORT_FORM_SHORT ||
	       (form == REPORT_FORM_AUTO && options->is_terminal);
}

bool text_has_short_names(const struct report_options *options)
{
	return is_short(options->names, options);
}

bool text_has_short_paths(const struct report_options *options)
{
	return is_short(options->paths, options);
}

bool text_has_addresses(const struct report_options *options)
{
	return options->addresses || !options->is_terminal;
}

/* The line that is being written. */
struct wrap {
	struct strbuf *out;
	size_t columns, used, indent;
	bool utf8;
	bool has_word; /* behind the indent */
};

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
		width += brief_width(at, len, utf8);
	}
	return width;
}

static void indent(struct wrap *w, size_t columns)
{
	for (size_t i = 0; i < columns; i++)
		strbuf_append_char(w->out, ' ');
	w->used = columns;
	w->has_word = false;
}

/* Begin a line for a word, indented less if that lets the word fit. */
static void break_line(struct wrap *w, size_t width)
{
	size_t most = width < w->columns ? w->columns - width : w->indent;

	strbuf_append_char(w->out, '\n');
	indent(w, most < w->indent ? most : w->indent);
}

/* Bytes of the character at `at`, of well-formed UTF-8. */
static size_t char_len(const char *at, const char *end)
{
	size_t len = 1;

	while (at + len < end && ((unsigned char)at[len] & 0xc0) == 0x80)
		len++;
	return len;
}

/* Put a word that is wider than a line. */
static void put_broken(struct wrap *w, const char *at, const char *end)
{
	while (at < end) {
		size_t len = escape_len(at, end), width = 0;

		if (!len) {
			len = w->utf8 ? char_len(at, end) : 1;
			width = brief_width(at, len, w->utf8);
		}
		if (w->used + width > w->columns && w->used > w->indent)
			break_line(w, w->columns);
		strbuf_append_bytes(w->out, at, len);
		w->used += width;
		at += len;
	}
}

/* Put a word and the `blanks` columns before it. */
static void put_word(struct wrap *w, size_t blanks, const char *at, const char *end)
{
	size_t width = word_width(at, end, w->utf8);

	if (w->has_word && w->used + blanks + width > w->columns) {
		break_line(w, width);
		blanks = 0;
	}
	for (size_t i = 0; i < blanks; i++)
		strbuf_append_char(w->out, ' ');
	w->used += blanks;
	if (w->used + width > w->columns) {
		put_broken(w, at, end);
	} else {
		strbuf_append_bytes(w->out, at, (size_t)(end - at));
		w->used += width;
	}
	w->has_word = true;
}

/* Columns of the blanks and tabs at `*at`, from column `used` on; moves behind them. */
static size_t skip_blanks(const char **at, const char *end, size_t used)
{
	size_t column = used;

	for (; *at < end && (**at == ' ' || **at == '\t'); (*at)++)
		column += **at == ' ' ? 1 : TAB_COLUMNS - column % TAB_COLUMNS;
	return column - used;
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

/* Does the line begin with "  label       "? */
static bool has_label(const char *at, const char *end)
{
	return end - at > LABEL_COLUMNS && !memcmp(at, "  ", 2) &&
	       at[LABEL_COLUMNS - 1] == ' ' && at[LABEL_COLUMNS] != ' ' &&
	       !memchr(at, '\t', LABEL_COLUMNS);
}

/* As many of the `blanks` before the first word of a line as let the word fit. */
static size_t fit(const struct wrap *w, size_t blanks, size_t width)
{
	if (width > w->columns || blanks + width <= w->columns)
		return blanks;
	return w->columns - width;
}

static void wrap_line(struct wrap *w, const char *at, const char *end)
{
	bool has_tab = at < end && *at == '\t';
	bool is_labelled = has_label(at, end);
	size_t blanks = skip_blanks(&at, end, 0);

	if (has_tab && blanks > w->columns / 4)
		blanks = w->columns / 4;
	w->indent = is_labelled ? LABEL_COLUMNS : blanks + INDENT_MORE;
	if (w->indent > w->columns / 2)
		w->indent = w->columns / 2;
	if (at < end && blanks < w->columns)
		indent(w, fit(w, blanks, word_width(at, unit_end(at, end), w->utf8)));
	blanks = 0;
	while (at < end) {
		const char *word = at;

		at = unit_end(at, end);
		if (word_width(word, at, w->utf8) > w->columns - w->indent)
			at = word_end(word, end);
		put_word(w, blanks, word, at);
		blanks = skip_blanks(&at, end, w->used);
	}
	strbuf_append_char(w->out, '\n');
}

void text_wrap(struct strbuf *out, const char *text, size_t len, size_t columns,
	       bool utf8)
{
	const char *at = text, *end = text + len;
	struct wrap w = {.out = out, .columns = columns, .utf8 = utf8};

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *line_end = newline ? newline : end;

		w.used = 0;
		w.has_word = false;
		wrap_line(&w, at, line_end);
		at = line_end + 1;
	}
}

bool text_write(const struct report_options *options, struct strbuf *text, FILE *out)
{
	size_t columns = text_columns(options);
	struct strbuf wrapped = {0};
	bool ok = !text->failed;

	if (ok && columns && text->len) {
		text_wrap(&wrapped, text->data, text->len, columns, options->utf8);
		ok = !wrapped.failed;
	}
	if (ok)
		fwrite(columns ? strbuf_text(&wrapped) : strbuf_text(text), 1,
		       columns ? wrapped.len : text->len, out);
	strbuf_deinit(&wrapped);
	strbuf_clear(text);
	return ok;
}
