// SPDX-License-Identifier: Apache-2.0
#include "cli/option_table.h"

#include <string.h>

#define NAME_MAX_LEN 32

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	unsigned ab = a < b ? a : b;

	return ab < c ? ab : c;
}

/* How many letters to insert, drop, replace or swap with their neighbour to turn one
 * into the other (optimal string alignment). `b` is not longer than NAME_MAX_LEN. */
static unsigned distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	unsigned rows[3][NAME_MAX_LEN + 1];
	unsigned *before = rows[0], *above = rows[1], *row = rows[2];

	for (size_t j = 0; j <= b_len; j++)
		above[j] = (unsigned)j;
	for (size_t i = 1; i <= a_len; i++) {
		row[0] = (unsigned)i;
		for (size_t j = 1; j <= b_len; j++) {
			unsigned replace = above[j - 1] + (a[i - 1] != b[j - 1]);

			row[j] = min3(above[j] + 1, row[j - 1] + 1, replace);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1] && before[j - 2] + 1 < row[j])
				row[j] = before[j - 2] + 1;
		}

		unsigned *unused = before;

		before = above;
		above = row;
		row = unused;
	}
	return above[b_len];
}

static void consider(const char *name, const char *given, size_t len, const char **best,
		     unsigned *best_distance)
{
	size_t name_len = name ? strlen(name) : 0;
	unsigned d;

	if (!name_len || name_len > NAME_MAX_LEN)
		return;
	if (len >= 2 && !strncmp(name, given, len))
		d = 0;
	else
		d = distance(given, len, name, name_len);
	if (d < *best_distance) {
		*best = name;
		*best_distance = d;
	}
}

const char *option_nearest(const char *name, size_t len)
{
	/* One slip in a short name, one more for every third letter of a longer one. */
	unsigned limit = len < 6 ? 2 : (unsigned)len / 3 + 1;
	const char *best = NULL;

	if (!len)
		return NULL;
	for (size_t i = 0; i < OPTION_ID_COUNT; i++) {
		consider(option_rows[i].name, name, len, &best, &limit);
		consider(option_rows[i].alias, name, len, &best, &limit);
	}
	return best;
}
