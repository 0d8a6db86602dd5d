// SPDX-License-Identifier: Apache-2.0
#include "render/html_parts.h"

#include "render/html_path.h"
#include "render/text_suspects.h"
#include "render/text_words.h"

#define MAX_ROWS 100

static void append_suspect(struct strbuf *out, const struct report *report,
			   const struct report_suspect *suspect, size_t rank)
{
	const struct report_row *row = suspect->row;

	strbuf_appendf(out, "<tr><th scope=\"row\">%zu</th><td class=\"n\">%s</td>", rank,
		       text_format_slope(suspect->slope_bytes_per_s).s);
	html_append_bytes(out, row->sum.estimated_bytes);
	html_append_count(out, row->sum.estimated_count);
	strbuf_append(out, "<td class=\"path\">");
	html_append_path(out, report, row);
	strbuf_append(out, "<p class=\"why\">");
	text_append_why(out, suspect, true);
	strbuf_append(out, "</p></td></tr>\n");
}

void html_append_suspects(struct strbuf *out, const struct report *report)
{
	size_t count = 0;

	if (!(report->data & REPORT_DATA_TRENDS))
		return;
	strbuf_append(out, "<section id=\"suspects\">\n<h2>Leak suspects</h2>\n");
	for (size_t i = 0; i < report->section_count; i++) {
		const struct report_section *section = &report->sections[i];

		if (!section->suspect_count)
			continue;
		if (!count)
			strbuf_append(
				out,
				"<p class=\"note\">What these call paths hold rises "
				"steadily, and does not fall.</p>\n"
				"<table class=\"stacks\">\n<thead><tr>"
				"<th scope=\"col\">#</th>"
				"<th class=\"n\" scope=\"col\">Grows by</th>"
				"<th class=\"n\" scope=\"col\">Holds</th>"
				"<th class=\"n\" scope=\"col\">Blocks</th>"
				"<th scope=\"col\">Call path, and why it is suspected"
				"</th></tr></thead>\n<tbody>\n");
		for (size_t k = 0; k < section->suspect_count && count < MAX_ROWS; k++)
			append_suspect(out, report, &section->suspects[k], ++count);
	}
	strbuf_append(out,
		      count ? "</tbody>\n</table>\n</section>\n"
			    : "<p>None: nothing rises steadily without falling. It takes "
			      "at least five reports to tell.</p>\n</section>\n");
}
