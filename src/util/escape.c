// SPDX-License-Identifier: Apache-2.0
#include "util/escape.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Decode the code point at `s`, with `len` > 0 bytes left. Returns its length in bytes,
 * or 0 if it is not well-formed. */
static size_t decode(const unsigned char *s, size_t len, uint32_t *ret)
{
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	uint32_t code = s[0];
	size_t size = 1;

	if (code >= 0xf0 && code <= 0xf4) {
		size = 4;
		code &= 0x07;
	} else if (code >= 0xe0 && code < 0xf0) {
		size = 3;
		code &= 0x0f;
	} else if (code >= 0xc2 && code < 0xe0) {
		size = 2;
		code &= 0x1f;
	} else if (code >= 0x80) {
		return 0;
	}
	if (size > len)
		return 0;
	for (size_t i = 1; i < size; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	if (code < smallest[size] || code > 0x10ffff ||
	    (code >= 0xd800 && code <= 0xdfff))
		return 0;
	*ret = code;
	return size;
}

static bool is_harmless(uint32_t code)
{
	if (code < 0x20 || (code >= 0x7f && code < 0xa0))
		return false;
	if (code == 0x061c || code == 0x200e || code == 0x200f)
		return false;
	/* Line and paragraph separators, then embeddings and overrides. */
	if (code >= 0x2028 && code <= 0x202e)
		return false;
	return code < 0x2066 || code > 0x2069;
}

void escape_bytes(struct strbuf *out, const char *bytes, size_t len)
{
	const unsigned char *s = (const unsigned char *)bytes;
	size_t plain = 0; /* start of the text that is not yet copied */
	size_t at = 0;

	while (at < len) {
		uint32_t code;
		size_t size = decode(s + at, len - at, &code);

		if (size && is_harmless(code)) {
			at += size;
			continue;
		}
		strbuf_append_bytes(out, bytes + plain, at - plain);
		/* The following continuation bytes are not well-formed on their own, so
		 * they will be escaped too. */
		strbuf_appendf(out, "\\x%02x", s[at++]);
		plain = at;
	}
	strbuf_append_bytes(out, bytes + plain, len - plain);
}

void escape_text(struct strbuf *out, const char *s)
{
	escape_bytes(out, s, strlen(s));
}

char *escape_dup(const char *s)
{
	struct strbuf out = {0};

	escape_text(&out, s);
	return strbuf_steal(&out);
}
