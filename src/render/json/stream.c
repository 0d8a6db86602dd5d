// SPDX-License-Identifier: Apache-2.0
#include "render/json/stream.h"

#include <math.h>

#include "render/json/values.h"

#define FLUSH_BYTES ((size_t)64 * 1024)
#define DUMP_FLAGS  (JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(9))

struct json_stream json_stream_begin(FILE *out)
{
	return (struct json_stream){.out = out};
}

static void flush(struct json_stream *s)
{
	if (s->text.len)
		fwrite(s->text.data, 1, s->text.len, s->out);
	strbuf_clear(&s->text);
}

struct error *json_stream_end(struct json_stream *s)
{
	bool failed;

	strbuf_append_char(&s->text, '\n');
	failed = s->text.failed;
	if (!failed)
		flush(s);
	strbuf_deinit(&s->text);
	return failed ? error_no_memory() : NULL;
}

void json_stream_flush_some(struct json_stream *s)
{
	if (s->text.len >= FLUSH_BYTES && !s->text.failed)
		flush(s);
}

void json_stream_key(struct json_stream *s, const char *key)
{
	if (s->is_behind)
		strbuf_append_char(&s->text, ',');
	s->is_behind = true;
	if (!key)
		return;
	strbuf_append_char(&s->text, '"');
	strbuf_append(&s->text, key);
	strbuf_append_bytes(&s->text, "\":", 2);
}

void json_stream_open(struct json_stream *s, const char *key, char bracket)
{
	json_stream_key(s, key);
	strbuf_append_char(&s->text, bracket);
	s->is_behind = false;
}

void json_stream_close(struct json_stream *s, char bracket)
{
	strbuf_append_char(&s->text, bracket);
	s->is_behind = true;
}

void json_stream_integer(struct json_stream *s, const char *key, int64_t n)
{
	json_stream_key(s, key);
	if (n < 0)
		strbuf_append_char(&s->text, '-');
	strbuf_append_decimal(&s->text, n < 0 ? -(uint64_t)n : (uint64_t)n);
}

void json_stream_unsigned(struct json_stream *s, const char *key, uint64_t n)
{
	json_stream_integer(s, key, json_clamp(n));
}

void json_stream_real(struct json_stream *s, const char *key, double number)
{
	json_stream_value(s, key, isfinite(number) ? json_real(number) : json_null());
}

void json_stream_text(struct json_stream *s, const char *key, const char *text)
{
	json_stream_value(s, key, json_text(text));
}

void json_stream_null(struct json_stream *s, const char *key)
{
	json_stream_key(s, key);
	strbuf_append(&s->text, "null");
}

void json_stream_address(struct json_stream *s, const char *key, uint64_t address)
{
	json_stream_key(s, key);
	strbuf_append(&s->text, "\"0x");
	strbuf_append_hex(&s->text, address);
	strbuf_append_char(&s->text, '"');
}

static int append(const char *text, size_t len, void *arg)
{
	struct strbuf *to = arg;

	strbuf_append_bytes(to, text, len);
	return to->failed ? -1 : 0;
}

static void dump(struct json_stream *s, json_t *value, size_t flags)
{
	if (!value || json_dump_callback(value, append, &s->text, DUMP_FLAGS | flags))
		s->text.failed = true;
	json_decref(value);
}

void json_stream_value(struct json_stream *s, const char *key, json_t *value)
{
	json_stream_key(s, key);
	dump(s, value, 0);
}

void json_stream_members(struct json_stream *s, json_t *object)
{
	if (json_object_size(object))
		json_stream_key(s, NULL);
	dump(s, object, JSON_EMBED);
}
