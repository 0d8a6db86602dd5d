/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns of names as shells have them: '*' is any text, also with '/' in it, '?' one
 * byte, [abc], [a-z] and [!a-z] (or [^a-z]) one byte of a set, in which ']' may come
 * first; a backslash takes the special meaning from what follows. Bytes are compared, in
 * no locale.
 */
#ifndef UTIL_GLOB_H
#define UTIL_GLOB_H

#include <stdbool.h>

/* NULL when `glob` is well formed, else what is wrong with it: a static string such as
 * "a '[' is not closed". An empty one is wrong. */
const char *glob_check(const char *glob) __attribute__((warn_unused_result));

/* True when a well-formed `glob` matches all of `text`. Takes at most length of the one
 * times length of the other. */
bool glob_match(const char *glob, const char *text);

#endif
