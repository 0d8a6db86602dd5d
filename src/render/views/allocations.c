// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "render/views/csv_field.h"
#include "render/class_words.h"
#include "render/text_processes.h"
#include "render/text/rows.h"
#include "render/text_words.h"
#include "render/views/all.h"
#include "util/saturate.h"

static void append_single(struct text_page *page, const struct report_single *single)
{
	const struct report *report = page->report;
	const struct snapshot_block *block = single->block;
	struct strbuf *text = &page->text;

	strbuf_append_char(text, '\t');
	text_set_style(page, TEXT_NUMBER);
	strbuf_appendf(text, "%" PRIu64 " bytes", block->size_bytes);
	text_set_style(page, TEXT_PLAIN);
	strbuf_appendf(text, " at 0x%" PRIx64, block->address);
	if (!report->options.combined_only)
		strbuf_appendf(text, ", %s old",
			       text_format_ago(report, block->time_ns).s);
	strbuf_appendf(text, ", by thread %" PRIu32, block->tid);
	if (!report_is_of_one(report) && single->process) {
		strbuf_append(text, " of ");
		text_append_process(text, single->process);
	}
	strbuf_appendf(text, "  (%s)\n", units_format_bytes(block->size_bytes).s);
	text_append_stack(page, single->row);
	text_flush_some(page);
}

static void append_text(struct text_page *page, const struct report_section *section)
{
	text_append_heading(page, "Top %zu single %s", section->single_count,
			    class_words(section->class)->allocations);
	for (size_t i = 0; i < section->single_count; i++)
		append_single(page, &section->singles[i]);
	if (!section->single_count)
		strbuf_append(&page->text, "\tnone\n");
	view_leaks.append_text(page, section);
}

static void csv_table(const struct report *report, FILE *out)
{
	for (size_t s = 0; s < report->section_count; s++) {
		const struct report_section *section = &report->sections[s];

		for (size_t i = 0; i < section->single_count; i++) {
			const struct report_single *single = &section->singles[i];
			const struct snapshot_block *block = single->block;

			if (single->process)
				fprintf(out, "%d", single->process->pid);
			fputc(',', out);
			if (single->row->stack != SNAPSHOT_NO_STACK)
				fprintf(out, "%" PRIu32, single->row->stack);
			fprintf(out,
				",%s,0x%" PRIx64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu32
				"\r\n",
				class_words(section->class)->csv, block->address,
				block->size_bytes,
				saturate_subtract(report->snapshot->time_ns,
						  block->time_ns),
				block->tid);
		}
	}
}

const struct view_ops view_allocations = {
	.name = "allocations",
	.sort = REPORT_SORT_SIZE,
	.singles = true,
	.append_text = append_text,
	.csv_columns = "pid,stack_id,class,address,size_bytes,age_ns,tid",
	.csv_table = csv_table,
};
