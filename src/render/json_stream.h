/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON text, written piece by piece: commas come by themselves. For what is there 100,000
 * times, since an object of jansson takes ten times as long as its text; what is there a
 * few times is made by jansson and put in. Private to render/.
 */
#ifndef RENDER_JSON_STREAM_H
#define RENDER_JSON_STREAM_H

#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "util/error.h"
#include "util/strbuf.h"

struct json_stream {
	struct strbuf text; /* what was not written yet; failed when memory is out */
	FILE *out;
	bool is_behind; /* a value stands before, in what was opened last */
};

struct json_stream json_stream_begin(FILE *out);

/* Write the rest, and what ends the line; release everything. A failed write of `out`
 * (borrowed) is for its owner to see. */
struct error *json_stream_end(struct json_stream *stream)
	__attribute__((warn_unused_result));

/*
 * Each of these adds a value. `key` is a literal without anything to escape, and NULL in
 * a list or at the top.
 */
void json_stream_open(struct json_stream *stream, const char *key, char bracket);
void json_stream_close(struct json_stream *stream, char bracket);
void json_stream_integer(struct json_stream *stream, const char *key, int64_t n);
/* JSON's integers are signed: what is above the largest becomes that one. */
void json_stream_unsigned(struct json_stream *stream, const char *key, uint64_t n);
/* null for what JSON has no number for. */
void json_stream_real(struct json_stream *stream, const char *key, double number);
/* Escaped (util/escape.h); null for NULL. */
void json_stream_text(struct json_stream *stream, const char *key, const char *text);
void json_stream_null(struct json_stream *stream, const char *key);
/* An address, as text: "0x7f12". */
void json_stream_address(struct json_stream *stream, const char *key, uint64_t address);

/* Takes `value`; NULL stands for memory that is out. */
void json_stream_value(struct json_stream *stream, const char *key, json_t *value);
/* The members of an object, into the one that is open. Takes it, as above. */
void json_stream_members(struct json_stream *stream, json_t *object);

/* Behind this the caller appends a value to stream.text. */
void json_stream_key(struct json_stream *stream, const char *key);

/* Write what has gathered, if that is much. */
void json_stream_flush_some(struct json_stream *stream);

#endif
