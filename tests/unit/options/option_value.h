/* SPDX-License-Identifier: Apache-2.0 */
/* An option as an argument, with a value that it accepts. */
#ifndef TESTS_UNIT_OPTIONS_OPTION_VALUE_H
#define TESTS_UNIT_OPTIONS_OPTION_VALUE_H

#include <stdio.h>

#include "options/option_table.h"

static inline const char *option_value(const struct option_row *row, char ret[32])
{
	size_t last = 0;

	switch (row->kind) {
	case KIND_CHOICE:
	case KIND_NAME:
		/* The first one can be the default. */
		while (row->choices[last + 1])
			last++;
		return row->choices[last];
	case KIND_DURATION:
		return "1s";
	case KIND_INTEGER:
	case KIND_QUANTITY:
	case KIND_SIZE:
		/* 1 can be the default. */
		snprintf(ret, 32, "%llu",
			 (unsigned long long)(row->min > 1 ? row->min : 2));
		return ret;
	default:
		return "profile:hz:9";
	}
}

static inline void option_spell(const struct option_row *row, char ret[128])
{
	char number[32];

	if (row->argument)
		snprintf(ret, 128, "--%s=%s", row->name, option_value(row, number));
	else
		snprintf(ret, 128, "--%s", row->name);
}

#endif
