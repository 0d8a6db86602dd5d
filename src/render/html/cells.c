// SPDX-License-Identifier: Apache-2.0
#include "render/html/parts.h"

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

void html_move_text(struct strbuf *out, struct strbuf *text)
{
	xml_append(out, strbuf_text(text));
	out->failed |= text->failed;
	strbuf_deinit(text);
}

void html_begin_folded(struct strbuf *out, const char *id, const char *title)
{
	strbuf_appendf(out,
		       "<details class=\"folded prints\" id=\"%s\"><summary><h2>%s</h2>"
		       "</summary>\n",
		       id, title);
}

void html_end_folded(struct strbuf *out)
{
	strbuf_append(out, "</details>\n");
}

void html_append_number(struct strbuf *out, const char *head, const char *text)
{
	strbuf_appendf(out, "<td class=\"n\" data-head=\"%s\">%s</td>", head, text);
}

void html_append_bytes(struct strbuf *out, const char *head, uint64_t bytes)
{
	strbuf_appendf(out,
		       "<td class=\"n\" data-head=\"%s\" title=\"%" PRIu64
		       " bytes\">%s</td>",
		       head, bytes, units_format_bytes(bytes).s);
}

void html_append_growth(struct strbuf *out, const char *head, int64_t bytes)
{
	uint64_t size = bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes;

	strbuf_appendf(out,
		       "<td class=\"n\" data-head=\"%s\" title=\"%" PRId64
		       " bytes\">%s%s</td>",
		       head, bytes,
		       bytes < 0   ? "\u2212"
		       : bytes > 0 ? "+"
				   : "",
		       bytes ? units_format_bytes(size).s : "0");
}

/* Groups of three digits, separated by narrow no-break spaces. */
void html_append_count(struct strbuf *out, const char *head, uint64_t count)
{
	char digits[32];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, count);

	strbuf_appendf(out, "<td class=\"n\" data-head=\"%s\">", head);
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

void html_append_bar_picture(struct strbuf *out, uint64_t part, uint64_t whole)
{
	strbuf_append(out, "<svg class=\"bar\" viewBox=\"0 0 100 10\" "
			   "preserveAspectRatio=\"none\" aria-hidden=\"true\">");
	if (part) {
		double share = whole ? 100 * (double)part / (double)whole : 0;

		strbuf_append(out, "<rect height=\"10\" width=\"");
		/* Even a tiny share must be visible. */
		html_append_tenths(out, share > 0.7 ? share : 0.7);
		strbuf_append(out, "\"/>");
	}
	strbuf_append(out, "</svg>");
}

void html_append_bar(struct strbuf *out, uint64_t part, uint64_t whole)
{
	strbuf_append(out, "<td class=\"b\">");
	html_append_bar_picture(out, part, whole);
	strbuf_append(out, "</td>");
}
