/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shell-like patterns for names. '*' matches any text, including '/', and '?' one byte.
 * [abc], [a-z] and [!a-z] (or [^a-z]) match one byte of a set, with ']' allowed as its
 * first member. A backslash makes the next character literal. fnmatch(3) does not fit:
 * its '?' matches a character of the locale, which --live sets, and it does not say that
 * a '[' is not closed.
 */
#ifndef UTIL_GLOB_H
#define UTIL_GLOB_H

#include <stdbool.h>

/* NULL if `glob` is well-formed. Otherwise a static string such as "a '[' is not
 * closed". An empty pattern is malformed. */
const char *glob_check(const char *glob) __attribute__((warn_unused_result));

/* True if a well-formed `glob` matches all of `text`. Takes at most time proportional
 * to the product of both lengths. */
bool glob_match(const char *glob, const char *text);

#endif
