// SPDX-License-Identifier: Apache-2.0
#include "options/option_table.h"

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

const char *option_nearest(const char *name, size_t len)
{
	struct nearest_choice choice = nearest_choice_begin(name, len);

	for (size_t i = 0; i < OPTION_ID_COUNT; i++) {
		nearest_choice_offer(&choice, option_rows[i].name);
		nearest_choice_offer(&choice, option_rows[i].alias);
	}
	return choice.best;
}
