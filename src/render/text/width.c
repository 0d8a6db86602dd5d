// SPDX-License-Identifier: Apache-2.0
#include "render/text/width.h"

#include <string.h>

#define DOTS "..."

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

size_t text_width(const char *text, size_t len, bool utf8)
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
		width += text_width(text + start, at - start, utf8);
		if (width > columns)
			break;
		at = start;
	}
	return at;
}

void text_append_within(struct strbuf *out, const char *text, size_t columns, bool utf8)
{
	size_t len = strlen(text), dots = strlen(DOTS), head;

	/* A column is at most four bytes. Do not measure all of a very long text. */
	if (len <= 4 * columns && text_width(text, len, utf8) <= columns) {
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
