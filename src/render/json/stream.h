/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes JSON text piece by piece and inserts the commas. For values that may occur
 * 100,000 times: creating a jansson object takes ten times as long as writing its text.
 * Values that occur a few times are created with jansson and inserted. Private to
 * render/.
 */
#ifndef RENDER_JSON_STREAM_H
#define RENDER_JSON_STREAM_H

#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "util/error.h"
#include "util/strbuf.h"

struct json_stream {
	struct strbuf text; /* text not written yet; failed if out of memory */
	FILE *out;
	bool is_behind; /* the open object or list has a value already, so a comma is
			   needed */
};

struct json_stream json_stream_begin(FILE *out);

/* Write the remaining text and a newline; free everything. The caller checks `out`
 * (borrowed) for failed writes. */
struct error *json_stream_end(struct json_stream *stream)
	__attribute__((warn_unused_result));

/*
 * Each of these adds a value. `key` is a literal that needs no escaping; NULL in a list
 * or at the top level.
 */
void json_stream_open(struct json_stream *stream, const char *key, char bracket);
void json_stream_close(struct json_stream *stream, char bracket);
void json_stream_integer(struct json_stream *stream, const char *key, int64_t n);
/* Values above INT64_MAX are written as INT64_MAX, because JSON integers are signed
 * here. */
void json_stream_unsigned(struct json_stream *stream, const char *key, uint64_t n);
/* Writes null for infinity and NaN, which JSON does not have. */
void json_stream_real(struct json_stream *stream, const char *key, double number);
/* Writes the text escaped (util/escape.h); null for NULL. */
void json_stream_text(struct json_stream *stream, const char *key, const char *text);
void json_stream_null(struct json_stream *stream, const char *key);
/* Writes an address as text: "0x7f12". */
void json_stream_address(struct json_stream *stream, const char *key, uint64_t address);

/* Takes ownership of `value`; NULL means that out of memory. */
void json_stream_value(struct json_stream *stream, const char *key, json_t *value);
/* Adds the members of an object to the open one. Takes ownership, as above. */
void json_stream_members(struct json_stream *stream, json_t *object);

/* The caller appends the value to stream.text afterwards. */
void json_stream_key(struct json_stream *stream, const char *key);

/* Write the collected text to `out` if it is long. */
void json_stream_flush_some(struct json_stream *stream);

#endif
