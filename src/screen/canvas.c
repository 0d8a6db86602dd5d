// SPDX-License-Identifier: Apache-2.0
#include "screen/canvas.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/text/width.h"

#define LEVELS 8

void canvas_begin(struct canvas *canvas, unsigned columns, unsigned lines, bool utf8)
{
	canvas->columns = columns;
	canvas->lines = lines;
	canvas->utf8 = utf8;
	canvas->pieces.len = 0;
	strbuf_clear(&canvas->texts);
}

void canvas_deinit(struct canvas *canvas)
{
	vec_deinit(&canvas->pieces);
	strbuf_deinit(&canvas->texts);
}

static unsigned width_of(const struct canvas *canvas, const char *text)
{
	return (unsigned)text_width(text, strlen(text), canvas->utf8);
}

unsigned canvas_put(struct canvas *canvas, unsigned x, unsigned y, unsigned width,
		    enum canvas_style style, const char *text)
{
	struct canvas_piece piece = {
		.x = x, .y = y, .style = style, .text = canvas->texts.len};

	if (x >= canvas->columns || y >= canvas->lines || !width || !*text)
		return 0;
	if (width > canvas->columns - x)
		width = canvas->columns - x;
	text_append_within(&canvas->texts, text, width, canvas->utf8);
	if (canvas->texts.failed)
		return 0;
	piece.width = width_of(canvas, canvas->texts.data + piece.text);
	strbuf_append_bytes(&canvas->texts, "", 1);
	canvas->texts.failed |= !vec_push(&canvas->pieces, piece);
	return piece.width;
}

unsigned canvas_putf(struct canvas *canvas, unsigned x, unsigned y, unsigned width,
		     enum canvas_style style, const char *format, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	return canvas_put(canvas, x, y, width, style, text);
}

void canvas_put_right(struct canvas *canvas, unsigned x, unsigned y, unsigned width,
		      enum canvas_style style, const char *text)
{
	unsigned needed = width_of(canvas, text);

	if (needed < width)
		x += width - needed;
	canvas_put(canvas, x, y, needed < width ? needed : width, style, text);
}

void canvas_select(struct canvas *canvas, unsigned x, unsigned y, unsigned width)
{
	vec_foreach (piece, &canvas->pieces) {
		if (piece->y == y && piece->x >= x && piece->x < x + width)
			piece->is_selected = true;
	}
}

void canvas_append_spark(struct strbuf *out, const double values[], size_t count,
			 bool utf8)
{
	double low = count ? values[0] : 0, high = low;

	for (size_t i = 1; i < count; i++) {
		low = values[i] < low ? values[i] : low;
		high = values[i] > high ? values[i] : high;
	}
	for (size_t i = 0; i < count; i++) {
		double share = high > low ? (values[i] - low) / (high - low) : 0;
		unsigned level = (unsigned)(share * (LEVELS - 1) + 0.5);

		level = level < LEVELS ? level : LEVELS - 1;
		/* U+2581, lower one eighth block, to U+2588, full block. */
		if (utf8)
			strbuf_appendf(out, "\xe2\x96%c", (char)(0x81 + level));
		else
			strbuf_append_char(out, "_.-:=+*#"[level]);
	}
}

void canvas_append_bar(struct strbuf *out, double part, double whole, unsigned width,
		       bool utf8)
{
	double columns = whole > 0 && part > 0 ? part / whole * width : 0;
	unsigned eighths;

	columns = columns < width ? columns : width;
	if (!utf8) {
		for (unsigned i = 0; i < (unsigned)(columns + 0.5); i++)
			strbuf_append_char(out, '#');
		return;
	}
	eighths = (unsigned)(columns * 8 + 0.5);
	/* U+2588 is a full block; U+258F to U+2589 are one to seven eighths. */
	for (; eighths >= 8; eighths -= 8)
		strbuf_append(out, "\xe2\x96\x88");
	if (eighths)
		strbuf_appendf(out, "\xe2\x96%c", (char)(0x90 - eighths));
}

/* --- as text ------------------------------------------------------------------------ */

static size_t char_bytes(unsigned char first)
{
	return first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/* Put the characters of a piece into cells. A character of two columns leaves the second
 * cell empty. */
static void fill_cells(const struct canvas *canvas, const struct canvas_piece *piece,
		       const char **cells)
{
	const char *text = canvas->texts.data + piece->text;
	unsigned x = piece->x;

	while (*text && x < canvas->columns) {
		size_t bytes = canvas->utf8 ? char_bytes((unsigned char)*text) : 1;
		size_t width = text_width(text, bytes, canvas->utf8);

		cells[x++] = text;
		if (width == 2 && x < canvas->columns)
			cells[x++] = "";
		text += bytes;
	}
}

void canvas_append_text(const struct canvas *canvas, struct strbuf *out)
{
	const char **cells = calloc(canvas->columns + 1, sizeof(*cells));

	out->failed |= !cells;
	for (unsigned y = 0; cells && y < canvas->lines; y++) {
		unsigned end = 0;

		memset(cells, 0, canvas->columns * sizeof(*cells));
		for (size_t i = 0; i < canvas->pieces.len; i++)
			if (canvas->pieces.data[i].y == y)
				fill_cells(canvas, &canvas->pieces.data[i], cells);
		for (unsigned x = 0; x < canvas->columns; x++)
			if (cells[x] && *cells[x] != ' ')
				end = x + 1;
		for (unsigned x = 0; x < end; x++) {
			const char *cell = cells[x] ? cells[x] : " ";

			strbuf_append_bytes(out, cell,
					    !*cell ? 0
					    : canvas->utf8
						    ? char_bytes((unsigned char)*cell)
						    : 1);
		}
		strbuf_append_char(out, '\n');
	}
	free(cells);
}
