// SPDX-License-Identifier: Apache-2.0
#include "render/text/brief_page.h"

#include <stdarg.h>
#include <string.h>

#include "render/text/words.h"

/* Lines that begin with a label, and where their text begins. */
#define LABEL_COLUMNS        12
#define LABEL_COLUMNS_NARROW 4
#define NARROW               40

#define DOTS                 "..."

void brief_page_init(struct brief_page *page, const struct report *report)
{
	size_t columns = report->options.columns;

	*page = (struct brief_page){.report = report};
	page->columns = columns ? columns : BRIEF_COLUMNS_DEFAULT;
	if (page->columns < BRIEF_COLUMNS_MIN)
		page->columns = BRIEF_COLUMNS_MIN;
}

/* The code point that begins at `s`, of well-formed UTF-8, and its length in bytes. */
static uint32_t decode(const char *s, size_t len, size_t *size)
{
	unsigned char first = (unsigned char)*s;
	uint32_t code = first < 0x80   ? first
			: first < 0xe0 ? first & 0x1f
			: first < 0xf0 ? first & 0x0f
				       : first & 0x07;

	*size = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
	if (*size > len)
		*size = len;
	for (size_t i = 1; i < *size; i++)
		code = code << 6 | ((unsigned char)s[i] & 0x3f);
	return code;
}

/* Unicode annex 11, East_Asian_Width W and F, in coarse ranges. */
static bool is_wide(uint32_t code)
{
	static const uint32_t ranges[][2] = {
		{0x1100, 0x115f},   {0x231a, 0x231b},   {0x23e9, 0x23f3},
		{0x25fd, 0x25fe},   {0x2600, 0x27bf},   {0x2b1b, 0x2b55},
		{0x2e80, 0x303e},   {0x3041, 0xa4cf},   {0xa960, 0xa97f},
		{0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe10, 0xfe6f},
		{0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x16fe0, 0x18d08},
		{0x1aff0, 0x1b2fb}, {0x1f000, 0x1faff}, {0x20000, 0x3fffd},
	};

	if (code < ranges[0][0])
		return false;
	for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++) {
		if (code >= ranges[i][0] && code <= ranges[i][1])
			return true;
	}
	return false;
}

/* The columns of the first character of `text`, and its length in bytes. */
static size_t char_width(const char *text, size_t len, bool utf8, size_t *size)
{
	uint32_t code = decode(text, len, size);

	return !utf8 ? *size : is_wide(code) ? 2 : 1;
}

size_t brief_width(const char *text, size_t len, bool utf8)
{
	size_t width = 0, size;

	for (size_t at = 0; at < len; at += size)
		width += char_width(text + at, len - at, utf8, &size);
	return width;
}

/* How many bytes from the begin of `text` fit into `columns`. */
static size_t head_len(const char *text, size_t len, size_t columns, bool utf8)
{
	size_t at = 0, width = 0, size = 1;

	for (; at < len; at += size) {
		width += char_width(text + at, len - at, utf8, &size);
		if (width > columns)
			break;
	}
	return at < len ? at : len;
}

/* Where the last part of `text` begins that fits into `columns`. */
static size_t tail_start(const char *text, size_t len, size_t columns, bool utf8)
{
	size_t at = len, width = 0;

	while (at) {
		size_t start = at - 1;

		while (start && ((unsigned char)text[start] & 0xc0) == 0x80)
			start--;
		width += brief_width(text + start, at - start, utf8);
		if (width > columns)
			break;
		at = start;
	}
	return at;
}

void brief_append_cut(struct strbuf *out, const char *text, size_t columns, bool utf8)
{
	size_t len = strlen(text), dots = strlen(DOTS), head;

	/* A column is at most four bytes. Do not measure all of a very long text. */
	if (len <= 4 * columns && brief_width(text, len, utf8) <= columns) {
		strbuf_append_bytes(out, text, len);
		return;
	}
	if (columns <= dots + 2) {
		strbuf_append_bytes(out, text, head_len(text, len, columns, utf8));
		return;
	}
	/* The end of a name says more than its begin. */
	head = (columns - dots) / 3;
	strbuf_append_bytes(out, text, head_len(text, len, head, utf8));
	strbuf_append(out, DOTS);
	strbuf_append(out, text + tail_start(text, len, columns - dots - head, utf8));
}

size_t brief_room(const struct brief_page *page)
{
	return page->columns > page->used ? page->columns - page->used : 0;
}

void brief_put(struct brief_page *page, enum text_style style, const char *text)
{
	bool color = page->report->options.color && style != TEXT_PLAIN;
	size_t start;

	if (!brief_room(page))
		return;
	text_append_style(&page->text, color, style);
	start = page->text.len;
	brief_append_cut(&page->text, text, brief_room(page), page->report->options.utf8);
	if (!page->text.failed)
		page->used +=
			brief_width(page->text.data ? page->text.data + start : "",
				    page->text.len - start, page->report->options.utf8);
	text_append_style(&page->text, color, TEXT_PLAIN);
}

static void put_format(struct brief_page *page, enum text_style style, const char *format,
		       va_list ap)
{
	char buf[512];

	vsnprintf(buf, sizeof(buf), format, ap);
	brief_put(page, style, buf);
}

void brief_putf(struct brief_page *page, enum text_style style, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	put_format(page, style, format, ap);
	va_end(ap);
}

void brief_put_words(struct brief_page *page, enum text_style style, size_t indent,
		     const char *text)
{
	const struct report_options *options = &page->report->options;
	const char *end = text + strlen(text);
	struct word_line line = {
		.out = &page->text,
		.columns = page->columns,
		.used = page->used,
		/* At least one, as brief_indent(). */
		.indent = !indent                  ? 1
			  : indent < page->columns ? indent
						   : page->columns,
		.utf8 = options->utf8,
		.cuts = true,
		.color = options->color && style != TEXT_PLAIN,
		.style = style,
	};

	words_skip_blanks(&text, end, 0);
	words_put(&line, text, end);
	page->used = line.used;
	page->lines += line.lines;
}

void brief_put_labelled(struct brief_page *page, const char *label, const char *text)
{
	size_t column = page->columns < NARROW ? LABEL_COLUMNS_NARROW : LABEL_COLUMNS;

	brief_indent(page, 2);
	brief_put(page, TEXT_PLAIN, label);
	brief_indent(page, column);
	brief_put_words(page, TEXT_PLAIN, column, text);
	brief_end_line(page);
}

void brief_put_labelledf(struct brief_page *page, const char *label, const char *format,
			 ...)
{
	char buf[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(buf, sizeof(buf), format, ap);
	va_end(ap);
	brief_put_labelled(page, label, buf);
}

void brief_indent(struct brief_page *page, size_t column)
{
	do {
		brief_put(page, TEXT_PLAIN, " ");
	} while (page->used < column && brief_room(page));
}

void brief_end_line(struct brief_page *page)
{
	/* Indented and then nothing. */
	while (page->text.len && page->text.data[page->text.len - 1] == ' ')
		page->text.len--;
	strbuf_append_char(&page->text, '\n');
	page->used = 0;
	page->lines++;
}
