/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text chosen by the target (symbols, paths, command names) made safe for a terminal and
 * for JSON. Printable UTF-8 passes as it is. Every byte of anything else becomes \xNN
 * (lower-case hex):
 *  - bytes that are not well-formed UTF-8 (Unicode 15, table 3-7: overlong forms,
 *    surrogates and code points above U+10FFFF are not);
 *  - C0 and C1 controls and DEL, newline and tab among them;
 *  - what reorders or breaks a line: U+061C, U+200E, U+200F, U+202A-202E, U+2066-2069
 *    (Unicode annex 9, explicit directional formatting) and U+2028, U+2029.
 * A backslash passes, so the result is for reading, not for turning back.
 */
#ifndef UTIL_ESCAPE_H
#define UTIL_ESCAPE_H

#include <stddef.h>

#include "util/strbuf.h"

/* Append `s` escaped to `out`. */
void escape_text(struct strbuf *out, const char *s);

/* The same for `len` bytes, which may contain NULs. */
void escape_bytes(struct strbuf *out, const char *bytes, size_t len);

/* `s` escaped as a string that the caller frees, or NULL when memory is out. */
char *escape_dup(const char *s) __attribute__((warn_unused_result));

#endif
