/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodes numbers and texts of requests and answers. Both ends are the same program, so
 * numbers have the machine's byte order. Readers treat the bytes as hostile: one end
 * parses files of the target, and may have been taken over by one.
 */
#ifndef CONFINED_WIRE_H
#define CONFINED_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "util/strbuf.h"

void wire_put_u32(struct strbuf *out, uint32_t n);
void wire_put_u64(struct strbuf *out, uint64_t n);
/* A text or NULL; NULL differs from "". */
void wire_put_text(struct strbuf *out, const char *text);

/* The bytes left to read. */
struct wire {
	const char *at, *end;
	bool failed; /* data was missing or malformed; all later reads give 0 */
};

struct wire wire_read(const struct strbuf *bytes);

uint32_t wire_get_u32(struct wire *in);
uint64_t wire_get_u64(struct wire *in);
/* A NUL-terminated text, or NULL. Borrowed from the bytes. */
const char *wire_get_text(struct wire *in);
/* A count of items of at least `item_bytes` (at least 1) each. Fails and returns 0 if
 * the bytes left are too few for so many. */
uint32_t wire_get_count(struct wire *in, size_t item_bytes);
/* True if all bytes were read and nothing failed. */
bool wire_is_done(const struct wire *in);

#endif
