/* SPDX-License-Identifier: Apache-2.0 */
/* Suggests known names for a name that was not found. Debian packages this distance for
 * Perl, Python and Ruby, but not for C. */
#ifndef UTIL_NEAREST_H
#define UTIL_NEAREST_H

#include <stddef.h>

#include "util/strbuf.h"

#define NEAREST_MAX      3
#define NEAREST_NAME_MAX 64 /* longer names are not compared */

struct nearest {
	const char *wanted; /* borrowed */
	struct {
		char name[NEAREST_NAME_MAX + 1];
		unsigned distance;
	} best[NEAREST_MAX]; /* `count` of them, nearest first */
	size_t count;
};

/* The number of letters to insert, delete, replace or swap with their neighbour to turn
 * one name into the other (optimal string alignment distance). `b_len` is at most
 * NEAREST_NAME_MAX. */
unsigned nearest_distance(const char *a, size_t a_len, const char *b, size_t b_len);

/* What the user probably meant by `given` (`len` bytes): the name that begins with it, or
 * else the nearest one. One wrong letter is allowed in a short name, and one more for
 * each three letters of a longer one. */
struct nearest_choice {
	const char *given; /* borrowed, like `best` */
	size_t len;
	const char *best; /* NULL: none is near */
	unsigned limit;   /* a name must be nearer than this */
};

struct nearest_choice nearest_choice_begin(const char *given, size_t len);

/* Compare one name; NULL and names longer than NEAREST_NAME_MAX are not compared. */
void nearest_choice_offer(struct nearest_choice *choice, const char *name);

/* Compare `name` (`len` bytes) with the wanted name. It is near if the distance is at
 * most a third of the wanted name's letters, or if it contains the wanted name. */
void nearest_offer(struct nearest *nearest, const char *name, size_t len);

/* Append ": the nearest are A, B", escaped, or nothing if no name is near. */
void nearest_append(const struct nearest *nearest, struct strbuf *ret);

#endif
