/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_COLORS_H
#define TESTS_COLORS_H

#include <string.h>

#include "check.h"

/* Remove "ESC [ ... m". Other uses of ESC stay. */
static inline void colors_strip(char *text)
{
	char *to = text;

	for (const char *at = text; *at;) {
		if (at[0] == '\x1b' && at[1] == '[') {
			at += 2 + strspn(at + 2, "0123456789;");
			REQUIRE(*at == 'm');
			at++;
		} else {
			*to++ = *at++;
		}
	}
	*to = '\0';
}

#endif
