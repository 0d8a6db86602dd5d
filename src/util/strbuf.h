/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing string: `_cleanup_(strbuf_deinit) struct strbuf text = {0};`. Appending
 * does not report errors. If memory runs out the buffer becomes `failed`, ignores later
 * appends, and strbuf_steal() returns NULL. So a caller checks once, at the end.
 */
#ifndef UTIL_STRBUF_H
#define UTIL_STRBUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct strbuf {
	char *data; /* NUL-terminated; NULL before the first append */
	size_t len; /* bytes before the NUL */
	size_t cap;
	bool failed; /* memory ran out: the text is incomplete */
};

/* Free the storage. The buffer is then empty, and `failed` is cleared. */
void strbuf_deinit(struct strbuf *buf);

/* Make room for `extra` more bytes and the NUL. False: memory is out, and the buffer
 * has failed. */
bool strbuf_reserve(struct strbuf *buf, size_t extra);

/* Slow path of strbuf_append_bytes(). */
void strbuf_append_bytes_(struct strbuf *buf, const char *bytes, size_t len);

/* Append `len` bytes, which may contain NULs. Inline: long reports are made of short
 * texts. */
static inline void strbuf_append_bytes(struct strbuf *buf, const char *bytes, size_t len)
{
	if (!len || len >= buf->cap - buf->len || buf->failed) {
		strbuf_append_bytes_(buf, bytes, len);
		return;
	}
	memcpy(buf->data + buf->len, bytes, len);
	buf->len += len;
	buf->data[buf->len] = '\0';
}

static inline void strbuf_append(struct strbuf *buf, const char *text)
{
	strbuf_append_bytes(buf, text, strlen(text));
}

static inline void strbuf_append_char(struct strbuf *buf, char c)
{
	strbuf_append_bytes(buf, &c, 1);
}

/* Append a number as "%" PRIu64 and PRIx64 would. Fast, for long lists of numbers. */
void strbuf_append_decimal(struct strbuf *buf, uint64_t n);
void strbuf_append_hex(struct strbuf *buf, uint64_t n);
void strbuf_appendf(struct strbuf *buf, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void strbuf_appendv(struct strbuf *buf, const char *format, va_list ap)
	__attribute__((format(printf, 2, 0)));

/* Empty the buffer and keep its storage. `failed` stays set. */
void strbuf_clear(struct strbuf *buf);

/* The text so far, maybe "". Borrowed until the next append. */
const char *strbuf_text(const struct strbuf *buf);

/* Return the text, owned by the caller, and empty the buffer. NULL if memory ran out
 * before. */
char *strbuf_steal(struct strbuf *buf) __attribute__((warn_unused_result));

#endif
