/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers and texts of requests and answers. Both ends are the same program, so numbers
 * have the byte order of the machine. Whoever reads takes the bytes as hostile: one end
 * parses files of the target, and may have been taken over by them.
 */
#ifndef CONFINED_WIRE_H
#define CONFINED_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "util/strbuf.h"

void wire_put_u32(struct strbuf *out, uint32_t n);
void wire_put_u64(struct strbuf *out, uint64_t n);
/* A text, or NULL, which is not "". */
void wire_put_text(struct strbuf *out, const char *text);

/* What is left to read. */
struct wire {
	const char *at, *end;
	bool failed; /* something was missing or malformed; all that follows reads as 0 */
};

struct wire wire_read(const struct strbuf *bytes);

uint32_t wire_get_u32(struct wire *in);
uint64_t wire_get_u64(struct wire *in);
/* The text, NUL-terminated, or NULL. Borrowed from the bytes that are read. */
const char *wire_get_text(struct wire *in);
/* A count of items that take `item_bytes` (at least 1) each; fails, and is 0, if so many
 * cannot follow. */
uint32_t wire_get_count(struct wire *in, size_t item_bytes);
/* All was read and nothing failed. */
bool wire_is_done(const struct wire *in);

#endif
