/* SPDX-License-Identifier: Apache-2.0 */
/* The names that one which is not there is likely to mean. */
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
	} best[NEAREST_MAX]; /* nearest first; count of them */
	size_t count;
};

/* How many letters to insert, drop, replace or swap with their neighbour to turn one into
 * the other (optimal string alignment). `b_len` is at most NEAREST_NAME_MAX. */
unsigned nearest_distance(const char *a, size_t a_len, const char *b, size_t b_len);

/* Compare `name` (`len` bytes) with the wanted one. Near are those within a third of its
 * letters of it, and those that have it in them. */
void nearest_offer(struct nearest *nearest, const char *name, size_t len);

/* Append ": the nearest are A, B", escaped, or nothing when none is near. */
void nearest_append(const struct nearest *nearest, struct strbuf *ret);

#endif
