// SPDX-License-Identifier: Apache-2.0
#include "render/html_parts.h"

#include <inttypes.h>
#include <math.h>

#include "render/xml.h"
#include "util/cleanup.h"
#include "util/escape.h"
#include "util/units.h"

void html_append_text(struct strbuf *out, const char *text)
{
	_cleanup_(freep) char *escaped = text ? escape_dup(text) : NULL;

	if (escaped)
		xml_append(out, escaped);
	else if (text)
		out->failed = true;
}

void html_append_bytes(struct strbuf *out, uint64_t bytes)
{
	strbuf_appendf(out, "<td class=\"n\" title=\"%" PRIu64 " bytes\">%s</td>", bytes,
		       units_format_bytes(bytes).s);
}

void html_append_growth(struct strbuf *out, int64_t bytes)
{
	uint64_t size = bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes;

	strbuf_appendf(out, "<td class=\"n\" title=\"%" PRId64 " bytes\">%s%s</td>",
		       bytes,
		       bytes < 0   ? "\u2212"
		       : bytes > 0 ? "+"
				   : "",
		       bytes ? units_format_bytes(size).s : "0");
}

/* Groups of three digits, separated by narrow no-break spaces. */
void html_append_count(struct strbuf *out, uint64_t count)
{
	char digits[32];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, count);

	strbuf_append(out, "<td class=\"n\">");
	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			strbuf_append(out, "\u202f");
		strbuf_append_char(out, digits[i]);
	}
	strbuf_append(out, "</td>");
}

void html_append_tenths(struct strbuf *out, double value)
{
	double rounded = round(value * 10);
	long long n = rounded > -1e15 && rounded < 1e15 ? (long long)rounded : 0;

	strbuf_appendf(out, "%s%lld.%lld", n < 0 ? "-" : "", (n < 0 ? -n : n) / 10,
		       (n < 0 ? -n : n) % 10);
}

void html_append_share(struct strbuf *out, uint64_t value, uint64_t whole)
{
	html_append_tenths(out, whole ? 100.0 * (double)value / (double)whole : 0);
	strbuf_append(out, " %");
}

void html_append_bar(struct strbuf *out, uint64_t part, uint64_t whole)
{
	strbuf_append(out, "<td class=\"b\"><svg viewBox=\"0 0 100 10\" "
			   "preserveAspectRatio=\"none\" aria-hidden=\"true\">");
	if (part) {
		double share = whole ? 100 * (double)part / (double)whole : 0;

		strbuf_append(out, "<rect height=\"10\" width=\"");
		/* Even a tiny share must be visible. */
		html_append_tenths(out, share > 0.7 ? share : 0.7);
		strbuf_append(out, "\"/>");
	}
	strbuf_append(out, "</svg></td>");
}
