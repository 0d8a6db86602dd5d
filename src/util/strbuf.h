/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing string: `_cleanup_(strbuf_deinit) struct strbuf text = {0};`. Appending
 * never fails on the spot: when memory runs out the buffer is marked `failed`, drops
 * what is appended from then on, and strbuf_steal() gives NULL. So a caller appends
 * freely and looks once, at the end.
 */
#ifndef UTIL_STRBUF_H
#define UTIL_STRBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct strbuf {
	char *data; /* NUL-terminated, or NULL while nothing was appended */
	size_t len; /* bytes before the NUL */
	size_t cap;
	bool failed; /* memory ran out: the text is not whole */
};

/* Release the storage and make it an empty buffer again; `failed` is cleared too. */
void strbuf_deinit(struct strbuf *buf);

/* Make room for `extra` more bytes and the NUL; false (and failed) when memory is out. */
bool strbuf_reserve(struct strbuf *buf, size_t extra);

/* As strbuf_append_bytes(), where that finds no room. */
void strbuf_append_bytes_(struct strbuf *buf, const char *bytes, size_t len);

/* `len` bytes, which may contain NULs. Inline: long reports are made of short texts. */
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

/* As by "%" PRIu64 and PRIx64, for lists of very many numbers. */
void strbuf_append_decimal(struct strbuf *buf, uint64_t n);
void strbuf_append_hex(struct strbuf *buf, uint64_t n);
void strbuf_appendf(struct strbuf *buf, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Empty it, keeping its storage; when it has failed it stays so. */
void strbuf_clear(struct strbuf *buf);

/* The text so far, "" when there is none. Borrowed until the next append. */
const char *strbuf_text(const struct strbuf *buf);

/* Hand the text over to the caller, who frees it; the buffer is empty afterwards.
 * NULL when memory ran out at any time before. */
char *strbuf_steal(struct strbuf *buf) __attribute__((warn_unused_result));

#endif
