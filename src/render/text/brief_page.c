// SPDX-License-Identifier: Apache-2.0
#include "render/text/brief_page.h"

#include <stdarg.h>
#include <string.h>

#include "render/text/words.h"

/* Lines that begin with a label, and where their text begins. */
#define LABEL_COLUMNS        12
#define LABEL_COLUMNS_NARROW 4
#define NARROW               40

void brief_page_init(struct brief_page *page, const struct report *report)
{
	size_t columns = report->options.columns;

	*page = (struct brief_page){.report = report};
	page->columns = columns ? columns : TEXT_COLUMNS_DEFAULT;
	if (page->columns < TEXT_COLUMNS_MIN)
		page->columns = TEXT_COLUMNS_MIN;
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
	text_append_within(&page->text, text, brief_room(page),
			   page->report->options.utf8);
	if (!page->text.failed)
		page->used +=
			text_width(page->text.data ? page->text.data + start : "",
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
