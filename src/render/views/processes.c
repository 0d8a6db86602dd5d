// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "render/class_words.h"
#include "render/views/csv_field.h"
#include "render/text/page.h"
#include "render/text_processes.h"
#include "render/views/all.h"
#include "util/cleanup.h"
#include "util/escape.h"

static void append_text(struct text_page *page, const struct report_section *section)
{
	text_append_processes(&page->text, page->report, section);
}

static void csv_table(const struct report *report, FILE *out)
{
	for (size_t s = 0; s < report->section_count; s++) {
		const struct report_section *section = &report->sections[s];

		for (size_t i = 0; i < section->process_count; i++) {
			const struct report_process *p = &section->processes[i];
			const struct snapshot_process *process = p->process;
			_cleanup_(freep) char *command =
				escape_dup(process->command ? process->command : "");

			fprintf(out, "%d,%d,", process->pid, process->namespace_pid);
			csv_write_field(command ? command : "", out);
			fprintf(out,
				",%d,%s,%" PRIu64 ",%" PRIu64 ",%" PRId64 ",%" PRIu64
				",%" PRIu64 "\r\n",
				process->exited, class_words(section->class)->csv,
				p->live.estimated_bytes, p->live.estimated_count,
				p->estimated_growth_bytes, process->memory.vm_rss_bytes,
				process->memory.vm_hwm_bytes);
		}
	}
}

const struct view_ops view_processes = {
	.name = "processes",
	.sort = REPORT_SORT_SIZE,
	.append_text = append_text,
	.csv_columns = "pid,namespace_pid,command,exited,class,live_bytes,live_blocks,"
		       "growth_bytes,vm_rss_bytes,vm_hwm_bytes",
	.csv_table = csv_table,
};
