// SPDX-License-Identifier: Apache-2.0
#include "render/text_processes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "render/class_words.h"
#include "render/text_words.h"
#include "util/escape.h"
#include "util/saturate.h"

void text_append_process(struct strbuf *text, const struct snapshot_process *process)
{
	strbuf_appendf(text, "%d (", process->pid);
	escape_text(text, process->command ? process->command : "unknown");
	if (process->namespace_pid != process->pid)
		strbuf_appendf(text, ", %d in its namespace", process->namespace_pid);
	strbuf_append_char(text, ')');
}

void text_append_thread(struct strbuf *text, const struct report *report, uint32_t tid,
			const struct snapshot_thread *thread)
{
	const struct snapshot_process *process =
		thread ? snapshot_process(report->snapshot, thread->process) : NULL;

	strbuf_appendf(text, "%" PRIu32, tid);
	if (!thread)
		return;
	strbuf_append(text, " (");
	escape_text(text, thread->name ? thread->name : "unknown");
	strbuf_append_char(text, ')');
	if (!report_is_of_one(report) && process) {
		strbuf_append(text, " of ");
		text_append_process(text, process);
	}
	strbuf_append(text, thread->exited ? ", exited" : "");
}

static void append_end(struct strbuf *text, const struct report_process *p)
{
	text_append_process(text, p->process);
	if (p->process->exited)
		strbuf_append(text, ", exited");
	strbuf_append_char(text, '\n');
}

static void append_hits(struct strbuf *text, const struct report *report,
			const struct report_process *p)
{
	char growth[24] = "-";

	if (report->has_growth)
		snprintf(growth, sizeof(growth), "%+" PRId64, p->growth_count);
	strbuf_appendf(text, "  %10" PRIu64 " %11s  ", p->live.count, growth);
	append_end(text, p);
}

static void append_row(struct strbuf *text, const struct report *report,
		       const struct report_process *p)
{
	struct units_text growth = {.s = "-"};
	uint64_t rss_bytes = p->process->memory.vm_rss_bytes;

	if (report->has_growth)
		growth = text_format_growth(p->estimated_growth_bytes);
	strbuf_appendf(text, "  %10s %10" PRIu64 " %11s %10s  ",
		       units_format_bytes(p->live.estimated_bytes).s,
		       p->live.estimated_count, growth.s,
		       rss_bytes ? units_format_bytes(rss_bytes).s : "-");
	append_end(text, p);
}

void text_append_processes(struct strbuf *text, const struct report *report,
			   const struct report_section *section)
{
	size_t count = section->process_count, shown = count;
	uint64_t bytes = 0;
	const struct class_words *words = class_words(section->class);

	if (report->options.top && report->options.top < shown)
		shown = (size_t)report->options.top;
	if (words->is_live)
		strbuf_appendf(text, "\n  %10s %10s %11s %10s  process\n", "live",
			       words->blocks, "growth", "VmRSS");
	else
		strbuf_appendf(text, "\n  %10s %11s  process\n", words->name, "growth");
	for (size_t i = 0; i < shown; i++)
		(words->is_live ? append_row : append_hits)(text, report,
							    &section->processes[i]);
	for (size_t i = shown; i < count; i++)
		bytes = saturate_add(
			bytes, words->is_live ? section->processes[i].live.estimated_bytes
					      : section->processes[i].live.count);
	if (shown < count)
		strbuf_appendf(text,
			       "  ... %zu more processes with %s (--top 0 lists all)\n",
			       count - shown,
			       words->is_live ? units_format_bytes(bytes).s
					      : units_format_count(bytes).s);
	if (!count)
		strbuf_append(text, "  none yet\n");
}

void text_append_commands(struct strbuf *text, const struct report_row *row,
			  void (*append)(struct strbuf *text, const char *command))
{
	const char *commands[REPORT_COMMANDS];
	bool more;
	size_t count = report_row_commands(row, commands, &more);

	for (size_t i = 0; i < count; i++) {
		strbuf_append(text, i ? ", " : "");
		append(text, commands[i]);
	}
	strbuf_append(text, more ? " and others" : "");
}

void text_append_escaped(struct strbuf *text, const char *command)
{
	escape_text(text, command);
}

void text_append_where(struct strbuf *text, const struct report *report,
		       const struct report_row *row)
{
	if (report_is_of_one(report))
		return;
	if (row->process_count > 1) {
		strbuf_appendf(text, " in %zu processes (", row->process_count);
		text_append_commands(text, row, text_append_escaped);
		strbuf_append_char(text, ')');
	} else if (row->process) {
		strbuf_append(text, " in ");
		text_append_process(text, row->process);
	}
}
