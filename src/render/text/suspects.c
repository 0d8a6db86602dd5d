// SPDX-License-Identifier: Apache-2.0
#include "render/text/suspects.h"

#include <inttypes.h>

#include "render/class_words.h"
#include "render/suspect_words.h"
#include "render/text_processes.h"
#include "render/text/rows.h"
#include "render/text_words.h"

void text_append_suspects(struct text_page *page, const struct report_section *section)
{
	struct strbuf *text = &page->text;
	size_t shown = section->suspect_count, total = section->suspect_total;
	const char *among = class_words(section->class)->among;

	if (!shown)
		return;
	if (shown < total)
		text_append_heading(page, "Top %zu of %zu leak suspects%s", shown, total,
				    among);
	else
		text_append_heading(page, "%zu leak %s%s", total,
				    text_plural(total, "suspect", "suspects"), among);
	for (size_t i = 0; i < section->suspect_count; i++) {
		const struct report_suspect *suspect = &section->suspects[i];
		const struct report_sum *sum = &suspect->row->sum;

		strbuf_append_char(text, '\t');
		text_set_style(page, TEXT_WARNING);
		strbuf_append(text, text_format_slope(suspect->slope_bytes_per_s).s);
		text_set_style(page, TEXT_PLAIN);
		strbuf_appendf(text, ": %s in %" PRIu64 " %s  (",
			       units_format_bytes(sum->estimated_bytes).s,
			       sum->estimated_count,
			       text_blocks(section, sum->estimated_count));
		text_append_why(text, page->report, suspect, page->report->options.utf8);
		strbuf_append_char(text, ')');
		if (suspect->row->process_count > 1) {
			text_append_where(text, page->report, suspect->row);
		} else if (!report_is_of_one(page->report) && suspect->row->process) {
			strbuf_append(text, " in process ");
			text_append_process(text, suspect->row->process);
		}
		strbuf_append_char(text, '\n');
		text_append_stack(page, suspect->row);
		text_flush_some(page);
	}
}
