// SPDX-License-Identifier: Apache-2.0
#include "render/views/csv_field.h"

#include <string.h>

void csv_write_field(const char *text, FILE *out)
{
	fputc('"', out);
	if (*text && strchr("=+-@\t\r", *text))
		fputc('\'', out);
	for (;;) {
		const char *quote = strchrnul(text, '"');

		fwrite(text, 1, (size_t)(quote - text), out);
		if (!*quote)
			break;
		fputs("\"\"", out);
		text = quote + 1;
	}
	fputc('"', out);
}
