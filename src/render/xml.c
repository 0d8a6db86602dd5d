// SPDX-License-Identifier: Apache-2.0
#include "render/xml.h"

#include <string.h>

void xml_append(struct strbuf *out, const char *text)
{
	while (*text) {
		size_t plain = strcspn(text, "&<>\"'\xef");

		strbuf_append_bytes(out, text, plain);
		text += plain;
		switch (*text) {
		case '\0':
			return;
		case '&':
			strbuf_append(out, "&amp;");
			break;
		case '<':
			strbuf_append(out, "&lt;");
			break;
		case '>':
			strbuf_append(out, "&gt;");
			break;
		case '"':
			strbuf_append(out, "&quot;");
			break;
		case '\'':
			strbuf_append(out, "&#39;");
			break;
		default:
			if (!strncmp(text, "\xef\xbf\xbe", 3) ||
			    !strncmp(text, "\xef\xbf\xbf", 3)) {
				strbuf_appendf(out, "\\xef\\xbf\\x%02x",
					       (unsigned char)text[2]);
				text += 2;
			} else {
				strbuf_append_char(out, *text);
			}
			break;
		}
		text++;
	}
}
