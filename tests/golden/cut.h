/* SPDX-License-Identifier: Apache-2.0 */
/* Golden files omit the parts of a page that have their own files and tests. */
#ifndef TESTS_GOLDEN_CUT_H
#define TESTS_GOLDEN_CUT_H

#include "check.h"

#include <string.h>

/* Remove the text between each `from` and the next `to`. */
static inline void cut(char *text, const char *from, const char *to)
{
	while ((text = strstr(text, from))) {
		char *end;

		text += strlen(from);
		end = strstr(text, to);
		REQUIRE(end);
		memmove(text, end, strlen(end) + 1);
	}
}

/* Remove the script, the style of summaries, and their digests. */
static inline void cut_page(char *text)
{
	cut(text, "<script>", "</script>");
	cut(text, "'sha256-", "'");
	if (strstr(text, "<html"))
		cut(text, "<style>", "</style>");
}

#endif
