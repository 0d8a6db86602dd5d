// SPDX-License-Identifier: Apache-2.0
#include "render/text/wrap.h"

#include <string.h>

#include "render/text/width.h"
#include "render/text/words.h"

#define INDENT_MORE   4  /* of the second line and those that follow */
#define LABEL_COLUMNS 14 /* behind "  label       " text begins */

size_t text_columns(const struct report_options *options)
{
	size_t columns = options->columns ? options->columns : TEXT_COLUMNS_DEFAULT;

	if (!options->is_terminal)
		return 0;
	return columns < TEXT_COLUMNS_MIN ? TEXT_COLUMNS_MIN : columns;
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

/* Does the line begin with "  label       "? */
static bool has_label(const char *at, const char *end)
{
	return end - at > LABEL_COLUMNS && !memcmp(at, "  ", 2) &&
	       at[LABEL_COLUMNS - 1] == ' ' && at[LABEL_COLUMNS] != ' ' &&
	       !memchr(at, '\t', LABEL_COLUMNS);
}

/* As many of the `blanks` before the first word of a line as let the word fit. */
static size_t fit(const struct word_line *w, size_t blanks, size_t width)
{
	if (width > w->columns || blanks + width <= w->columns)
		return blanks;
	return w->columns - width;
}

static void wrap_line(struct word_line *w, const char *at, const char *end)
{
	bool has_tab = at < end && *at == '\t';
	bool is_labelled = has_label(at, end);
	size_t blanks = words_skip_blanks(&at, end, 0);

	if (has_tab && blanks > w->columns / 4)
		blanks = w->columns / 4;
	w->indent = is_labelled ? LABEL_COLUMNS : blanks + INDENT_MORE;
	if (w->indent > w->columns / 2)
		w->indent = w->columns / 2;
	if (at < end && blanks < w->columns)
		words_indent(w, fit(w, blanks, words_first_width(at, end, w->utf8)));
	words_put(w, at, end);
	strbuf_append_char(w->out, '\n');
}

void text_wrap(struct strbuf *out, const char *text, size_t len, size_t columns,
	       bool utf8)
{
	const char *at = text, *end = text + len;
	struct word_line w = {.out = out, .columns = columns, .utf8 = utf8};

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
