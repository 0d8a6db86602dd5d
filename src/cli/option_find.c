// SPDX-License-Identifier: Apache-2.0
#include "cli/option_table.h"

#include <string.h>

#include "util/nearest.h"

static bool same(const char *name, const char *given, size_t len)
{
	return name && strlen(name) == len && !memcmp(name, given, len);
}

const struct option_row *option_find(const char *name, size_t len)
{
	for (size_t i = 0; i < OPTION_ID_COUNT; i++) {
		const struct option_row *row = &option_rows[i];

		if (same(row->name, name, len) || same(row->alias, name, len))
			return row;
	}
	return NULL;
}

const struct option_row *option_find_letter(char letter)
{
	for (size_t i = 0; letter && i < OPTION_ID_COUNT; i++) {
		const struct option_row *row = &option_rows[i];

		if (row->letter == letter || row->alias_letter == letter)
			return row;
	}
	return NULL;
}

static void consider(const char *name, const char *given, size_t len, const char **best,
		     unsigned *best_distance)
{
	size_t name_len = name ? strlen(name) : 0;
	unsigned d;

	if (!name_len || name_len > NEAREST_NAME_MAX)
		return;
	if (len >= 2 && !strncmp(name, given, len))
		d = 0;
	else
		d = nearest_distance(given, len, name, name_len);
	if (d < *best_distance) {
		*best = name;
		*best_distance = d;
	}
}

const char *option_nearest(const char *name, size_t len)
{
	/* Allow one wrong letter in a short name, and one more per three letters in a
	 * longer one. */
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
