// SPDX-License-Identifier: Apache-2.0
/* Tables of processes and of threads. */
#include "render/html/parts.h"

#include <inttypes.h>
#define MAX_ROWS 100

static void append_process(struct strbuf *out, const struct report *report,
			   const struct report_process *p)
{
	strbuf_appendf(out, "<tr><th scope=\"row\">%d</th><td>", p->process->pid);
	html_append_text(out, p->process->command);
	strbuf_append(out, p->process->exited ? " <span class=\"tag\">exited</span></td>"
					      : "</td>");
	html_append_bytes(out, "Live heap", p->live.estimated_bytes);
	html_append_count(out, "Blocks", p->live.estimated_count);
	if (report->has_growth)
		html_append_growth(out, "Growth", p->estimated_growth_bytes);
	html_append_bytes(out, "VmRSS", p->process->memory.vm_rss_bytes);
	strbuf_append(out, "</tr>\n");
}

void html_append_processes(struct strbuf *out, const struct report *report)
{
	const struct report_section *heap = &report->sections[BLOCK_HEAP];

	if (heap->process_count < 2)
		return;
	html_begin_folded(out, "processes", "Processes");
	strbuf_appendf(out,
		       "<table class=\"cells\">\n<thead><tr>"
		       "<th scope=\"col\">Process</th><th scope=\"col\">Command</th>"
		       "<th class=\"n\" scope=\"col\">Live heap</th><th class=\"n\" "
		       "scope=\"col\">Blocks</th>%s"
		       "<th class=\"n\" scope=\"col\">VmRSS</th></tr></thead>\n<tbody>\n",
		       report->has_growth ? "<th class=\"n\" scope=\"col\">Growth</th>"
					  : "");
	for (size_t i = 0; i < heap->process_count && i < MAX_ROWS; i++)
		append_process(out, report, &heap->processes[i]);
	strbuf_append(out, "</tbody>\n</table>\n");
	if (heap->process_count > MAX_ROWS)
		strbuf_appendf(
			out,
			"<p class=\"note\">These are the first %d of %zu processes."
			"</p>\n",
			MAX_ROWS, heap->process_count);
	html_end_folded(out);
}

static void append_thread(struct strbuf *out, const struct report *report,
			  const struct report_thread *thread)
{
	const struct snapshot_thread *t = thread->thread;
	const struct {
		const char *head;
		uint64_t size_bytes;
	} columns[] = {{"Allocated", thread->allocated_bytes},
		       {"Freed itself", thread->freed_own_bytes},
		       {"Freed by others", thread->freed_by_others_bytes},
		       {"Freed of others", thread->freed_of_others_bytes}};

	strbuf_appendf(out, "<tr><th scope=\"row\">%" PRIu32 "</th><td>", t->tid);
	html_append_text(out, t->name);
	strbuf_append(out,
		      t->exited ? " <span class=\"tag\">exited</span></td>" : "</td>");
	if (report->snapshot->processes.len > 1)
		strbuf_appendf(out, "<td class=\"n\" data-head=\"Process\">%d</td>",
			       thread->process ? thread->process->pid : 0);
	html_append_bytes(out, "Still live", thread->live_bytes);
	html_append_count(out, "Blocks", thread->live_count);
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		html_append_bytes(out, columns[i].head, columns[i].size_bytes);
	strbuf_append(out, "</tr>\n");
}

void html_append_threads(struct strbuf *out, const struct report *report)
{
	if (!report->thread_count)
		return;
	html_begin_folded(out, "threads", "Threads");
	strbuf_appendf(out,
		       "<table class=\"cells\">\n<thead><tr>"
		       "<th scope=\"col\">Thread</th><th scope=\"col\">Name</th>%s"
		       "<th class=\"n\" scope=\"col\">Still live</th>"
		       "<th class=\"n\" scope=\"col\">Blocks</th>"
		       "<th class=\"n\" scope=\"col\">Allocated</th>"
		       "<th class=\"n\" scope=\"col\">Freed itself</th>"
		       "<th class=\"n\" scope=\"col\">Freed by others</th>"
		       "<th class=\"n\" scope=\"col\">Freed of others</th>"
		       "</tr></thead>\n<tbody>\n",
		       report->snapshot->processes.len > 1
			       ? "<th class=\"n\" scope=\"col\">Process</th>"
			       : "");
	for (size_t i = 0; i < report->thread_count && i < MAX_ROWS; i++)
		append_thread(out, report, &report->threads[i]);
	strbuf_append(out, "</tbody>\n</table>\n<p class=\"note\">");
	if (report->thread_count > MAX_ROWS)
		strbuf_appendf(out, "These are the first %d of %zu threads. ", MAX_ROWS,
			       report->thread_count);
	strbuf_append(out,
		      "Heap alone. Freed by others: its blocks, by other threads; freed "
		      "of others: their blocks, by it.</p>\n");
	html_end_folded(out);
}
