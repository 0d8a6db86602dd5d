/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes text chosen by the target (symbols, paths, command names) safe for a terminal and
 * for JSON. Printable UTF-8 is copied. Every byte of anything else becomes \xNN
 * (lower-case hex): docs/security.md, "Escaped text", lists it. A backslash is copied, so
 * the result is for reading and cannot be decoded.
 */
#ifndef UTIL_ESCAPE_H
#define UTIL_ESCAPE_H

#include <stddef.h>

#include "util/strbuf.h"

/* Append `s` escaped to `out`. */
void escape_text(struct strbuf *out, const char *s);

/* Like escape_text(), for `len` bytes, which may contain NULs. */
void escape_bytes(struct strbuf *out, const char *bytes, size_t len);

/* Return `s` escaped, a string owned by the caller, or NULL if memory is out. */
char *escape_dup(const char *s) __attribute__((warn_unused_result));

#endif
