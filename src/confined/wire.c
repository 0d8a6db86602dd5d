// SPDX-License-Identifier: Apache-2.0
#include "confined/wire.h"

#include <string.h>

void wire_put_u32(struct strbuf *out, uint32_t n)
{
	strbuf_append_bytes(out, (const char *)&n, sizeof(n));
}

void wire_put_u64(struct strbuf *out, uint64_t n)
{
	strbuf_append_bytes(out, (const char *)&n, sizeof(n));
}

/* Format: the number of bytes including the NUL, 0 for NULL; then these bytes. */
void wire_put_text(struct strbuf *out, const char *text)
{
	size_t size = text ? strlen(text) + 1 : 0;

	wire_put_u32(out, (uint32_t)size);
	strbuf_append_bytes(out, text, size);
}

struct wire wire_read(const struct strbuf *bytes)
{
	static const char nothing[1];
	const char *data = bytes->data ? bytes->data : nothing;

	return (struct wire){data, data + bytes->len, bytes->failed};
}

/* Take the next `size` bytes. NULL: there are fewer. */
static const char *take_bytes(struct wire *in, size_t size)
{
	const char *bytes = in->at;

	if (in->failed || (size_t)(in->end - in->at) < size) {
		in->failed = true;
		return NULL;
	}
	in->at += size;
	return bytes;
}

uint32_t wire_get_u32(struct wire *in)
{
	const char *bytes = take_bytes(in, sizeof(uint32_t));
	uint32_t n = 0;

	if (bytes)
		memcpy(&n, bytes, sizeof(n));
	return n;
}

uint64_t wire_get_u64(struct wire *in)
{
	const char *bytes = take_bytes(in, sizeof(uint64_t));
	uint64_t n = 0;

	if (bytes)
		memcpy(&n, bytes, sizeof(n));
	return n;
}

const char *wire_get_text(struct wire *in)
{
	uint32_t size = wire_get_u32(in);
	const char *text = size ? take_bytes(in, size) : NULL;

	if (text && memchr(text, '\0', size) != text + size - 1) {
		in->failed = true;
		return NULL;
	}
	return text;
}

uint32_t wire_get_count(struct wire *in, size_t item_bytes)
{
	uint32_t count = wire_get_u32(in);

	if (!in->failed && count <= (size_t)(in->end - in->at) / item_bytes)
		return count;
	in->failed = true;
	return 0;
}

bool wire_is_done(const struct wire *in)
{
	return !in->failed && in->at == in->end;
}
