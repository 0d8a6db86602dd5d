// SPDX-License-Identifier: Apache-2.0
#include "render/text_words.h"

#include <stdio.h>

const char *text_plural(uint64_t n, const char *singular, const char *plural)
{
	return n == 1 ? singular : plural;
}

struct units_text text_format_growth(int64_t bytes)
{
	struct units_text text = {.s = "no growth"};
	uint64_t size = bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes;

	if (bytes)
		snprintf(text.s, sizeof(text.s), "%c%.20s", bytes < 0 ? '-' : '+',
			 units_format_bytes(size).s);
	return text;
}
