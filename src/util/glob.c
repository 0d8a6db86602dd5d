// SPDX-License-Identifier: Apache-2.0
#include "util/glob.h"

#include <stddef.h>

/* Parse the set whose '[' is before `at`; *ret says whether it contains the byte.
 * Returns the position after the set, or NULL if it is not closed. */
static const char *match_set(const char *at, unsigned char byte, bool *ret)
{
	bool is_negated = *at == '!' || *at == '^', is_in = false, is_first = true;

	for (at += is_negated; *at && (*at != ']' || is_first); is_first = false) {
		unsigned char low, high;

		if (*at == '\\' && at[1])
			at++;
		low = high = (unsigned char)*at++;
		if (*at == '-' && at[1] && at[1] != ']') {
			at += at[1] == '\\' && at[2] ? 2 : 1;
			high = (unsigned char)*at++;
		}
		is_in = is_in || (byte >= low && byte <= high);
	}
	*ret = is_in != is_negated;
	return *at ? at + 1 : NULL;
}

const char *glob_check(const char *glob)
{
	bool ignored;

	if (!*glob)
		return "it is empty";
	while (*glob) {
		if (*glob == '\\' && !glob[1])
			return "nothing follows the last backslash";
		if (*glob == '\\') {
			glob += 2;
		} else if (*glob == '[') {
			glob = match_set(glob + 1, 0, &ignored);
			if (!glob)
				return "a '[' is not closed";
		} else {
			glob++;
		}
	}
	return NULL;
}

/* Match one byte with one pattern element other than a star. Returns the position after
 * the element, or NULL. */
static const char *match_one(const char *glob, unsigned char byte)
{
	bool is_in;

	if (*glob == '?')
		return glob + 1;
	if (*glob == '[') {
		glob = match_set(glob + 1, byte, &is_in);
		return is_in ? glob : NULL;
	}
	if (*glob == '\\')
		glob++;
	return *glob && (unsigned char)*glob == byte ? glob + 1 : NULL;
}

bool glob_match(const char *glob, const char *text)
{
	/* The position to retry from if the pattern after the last star does not match.
	 * Earlier stars cannot give a better match. */
	const char *after_star = NULL, *retry = NULL;

	while (*text) {
		const char *next;

		if (*glob == '*') {
			after_star = ++glob;
			retry = text;
			continue;
		}
		next = match_one(glob, (unsigned char)*text);
		if (next) {
			glob = next;
			text++;
		} else if (after_star) {
			glob = after_star;
			text = ++retry;
		} else {
			return false;
		}
	}
	while (*glob == '*')
		glob++;
	return !*glob;
}
