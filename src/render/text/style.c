// SPDX-License-Identifier: Apache-2.0
#include "render/text/style.h"

void text_append_style(struct strbuf *text, bool color, enum text_style style)
{
	/* ECMA-48, "select graphic rendition". */
	static const char *const codes[] = {
		[TEXT_PLAIN] = "\033[0m",      [TEXT_TITLE] = "\033[1m",
		[TEXT_HEADING] = "\033[1;34m", [TEXT_NUMBER] = "\033[1m",
		[TEXT_FUNCTION] = "\033[32m",  [TEXT_DIM] = "\033[2m",
		[TEXT_WARNING] = "\033[1;31m",
	};

	if (color)
		strbuf_append(text, codes[style]);
}
