// SPDX-License-Identifier: Apache-2.0
#include "util/strbuf.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void strbuf_deinit(struct strbuf *buf)
{
	free(buf->data);
	*buf = (struct strbuf){0};
}

bool strbuf_reserve(struct strbuf *buf, size_t extra)
{
	if (buf->failed)
		return false;
	if (extra < buf->cap - buf->len)
		return true;

	size_t cap = buf->cap ? buf->cap : 64;

	while (cap - buf->len <= extra) {
		if (cap > SIZE_MAX / 2)
			goto failed;
		cap *= 2;
	}

	char *data = realloc(buf->data, cap);

	if (!data)
		goto failed;
	buf->data = data;
	buf->cap = cap;
	buf->data[buf->len] = '\0';
	return true;
failed:
	buf->failed = true;
	return false;
}

void strbuf_append_bytes_(struct strbuf *buf, const char *bytes, size_t len)
{
	if (!len || !strbuf_reserve(buf, len))
		return;
	memcpy(buf->data + buf->len, bytes, len);
	buf->len += len;
	buf->data[buf->len] = '\0';
}

/* Inline, so that the divisor is a constant. */
static inline void append_number(struct strbuf *buf, uint64_t n, unsigned base)
{
	char digits[20]; /* enough for UINT64_MAX in decimal */
	size_t at = sizeof(digits);

	do {
		digits[--at] = "0123456789abcdef"[n % base];
		n /= base;
	} while (n);
	strbuf_append_bytes(buf, digits + at, sizeof(digits) - at);
}

void strbuf_append_decimal(struct strbuf *buf, uint64_t n)
{
	append_number(buf, n, 10);
}

void strbuf_append_hex(struct strbuf *buf, uint64_t n)
{
	append_number(buf, n, 16);
}

void strbuf_appendv(struct strbuf *buf, const char *format, va_list ap)
{
	va_list again;

	if (!strbuf_reserve(buf, 0))
		return;
	va_copy(again, ap);

	size_t room = buf->cap - buf->len;
	int len = vsnprintf(buf->data + buf->len, room, format, ap);

	/* The text is longer than INT_MAX, or has an invalid wide character. */
	if (len < 0)
		buf->failed = true;
	else if ((size_t)len >= room && strbuf_reserve(buf, (size_t)len))
		vsnprintf(buf->data + buf->len, (size_t)len + 1, format, again);
	va_end(again);
	if (!buf->failed)
		buf->len += (size_t)len;
	buf->data[buf->len] = '\0';
}

void strbuf_appendf(struct strbuf *buf, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	strbuf_appendv(buf, format, ap);
	va_end(ap);
}

void strbuf_clear(struct strbuf *buf)
{
	buf->len = 0;
	if (buf->data)
		buf->data[0] = '\0';
}

const char *strbuf_text(const struct strbuf *buf)
{
	return buf->data ? buf->data : "";
}

char *strbuf_steal(struct strbuf *buf)
{
	char *data = NULL;

	/* An empty text must be a string too, so allocate. */
	if (strbuf_reserve(buf, 0)) {
		data = buf->data;
		buf->data = NULL;
	}
	strbuf_deinit(buf);
	return data;
}
