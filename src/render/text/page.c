// SPDX-License-Identifier: Apache-2.0
#include "render/text/page.h"

#include <stdarg.h>

#include "render/text/wrap.h"

#define FLUSH_BYTES ((size_t)64 * 1024)

void text_set_style(struct text_page *page, enum text_style style)
{
	text_append_style(&page->text, page->report->options.color, style);
}

void text_append_line(struct text_page *page, const char *label, const char *format, ...)
{
	char buf[256];
	va_list ap;

	va_start(ap, format);
	vsnprintf(buf, sizeof(buf), format, ap);
	va_end(ap);
	strbuf_appendf(&page->text, "  %-12s%s\n", label, buf);
}

void text_append_heading(struct text_page *page, const char *format, ...)
{
	char buf[256];
	va_list ap;

	va_start(ap, format);
	vsnprintf(buf, sizeof(buf), format, ap);
	va_end(ap);
	strbuf_append_char(&page->text, '\n');
	text_set_style(page, TEXT_HEADING);
	strbuf_appendf(&page->text, "[%s] %s:", page->clock.s, buf);
	text_set_style(page, TEXT_PLAIN);
	strbuf_append_char(&page->text, '\n');
}

/* U+2588 is a full block; U+258F to U+2589 are one to seven eighths. */
static void append_fine_bar(struct strbuf *text, double columns)
{
	unsigned eighths = (unsigned)(columns * 8 + 0.5);

	eighths = eighths ? eighths : 1;
	for (; eighths >= 8; eighths -= 8)
		strbuf_append(text, "\u2588");
	if (eighths)
		strbuf_appendf(text, "\xe2\x96%c", (char)(0x90 - eighths));
}

void text_append_bar(struct text_page *page, uint64_t n, uint64_t most, unsigned width)
{
	double columns = most ? (double)n / (double)most * width : 0;

	if (!n || columns > width)
		return;
	if (page->report->options.utf8) {
		append_fine_bar(&page->text, columns);
		return;
	}
	for (unsigned i = 0; i == 0 || i + 0.5 < columns; i++)
		strbuf_append_char(&page->text, '#');
}

void text_flush_some(struct text_page *page)
{
	if (page->text.len < FLUSH_BYTES || page->text.failed)
		return;
	page->text.failed |= !text_write(&page->report->options, &page->text, page->out);
}
