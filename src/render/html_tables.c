// SPDX-License-Identifier: Apache-2.0
/* Tables of processes and threads. */
#include "render/html_parts.h"

#include <inttypes.h>
#include <stdlib.h>

#include "util/cleanup.h"

#define MAX_ROWS 100

static void append_process(struct strbuf *out, const struct report *report,
			   const struct report_process *p)
{
	strbuf_appendf(out, "<tr><th scope=\"row\">%d</th><td>", p->process->pid);
	html_append_text(out, p->process->command);
	strbuf_append(out, p->process->exited ? " <span class=\"tag\">exited</span></td>"
					      : "</td>");
	html_append_bytes(out, p->live.estimated_bytes);
	html_append_count(out, p->live.estimated_count);
	if (report->has_previous)
		html_append_growth(out, p->estimated_growth_bytes);
	html_append_bytes(out, p->process->memory.vm_rss_bytes);
	strbuf_append(out, "</tr>\n");
}

void html_append_processes(struct strbuf *out, const struct report *report)
{
	const struct report_section *heap = &report->sections[BLOCK_HEAP];

	if (heap->process_count < 2)
		return;
	strbuf_appendf(
		out,
		"<section id=\"processes\">\n<h2>Processes</h2>\n<table>\n<thead><tr>"
		"<th scope=\"col\">Process</th><th scope=\"col\">Command</th>"
		"<th class=\"n\" scope=\"col\">Live heap</th><th class=\"n\" "
		"scope=\"col\">Blocks</th>%s"
		"<th class=\"n\" scope=\"col\">VmRSS</th></tr></thead>\n<tbody>\n",
		report->has_previous ? "<th class=\"n\" scope=\"col\">Growth</th>" : "");
	for (size_t i = 0; i < heap->process_count && i < MAX_ROWS; i++)
		append_process(out, report, &heap->processes[i]);
	strbuf_append(out, "</tbody>\n</table>\n");
	if (heap->process_count > MAX_ROWS)
		strbuf_appendf(
			out,
			"<p class=\"note\">These are the first %d of %zu processes."
			"</p>\n",
			MAX_ROWS, heap->process_count);
	strbuf_append(out, "</section>\n");
}

/* What it has allocated and nobody has freed. */
static uint64_t live_bytes(const struct snapshot_thread *t)
{
	uint64_t freed = report_add(t->freed_own_bytes, t->freed_by_others_bytes);

	return t->allocated_bytes > freed ? t->allocated_bytes - freed : 0;
}

static int compare_threads(const void *a, const void *b)
{
	const struct snapshot_thread *const *left = a, *const *right = b;
	uint64_t l = live_bytes(*left), r = live_bytes(*right);

	if (l != r)
		return l > r ? -1 : 1;
	/* They come in an order of their own. */
	return *left < *right ? -1 : *left > *right;
}

static void append_thread(struct strbuf *out, const struct snapshot *snap,
			  const struct snapshot_thread *t)
{
	const struct snapshot_process *process = snapshot_process(snap, t->process);

	strbuf_appendf(out, "<tr><th scope=\"row\">%" PRIu32 "</th><td>", t->tid);
	html_append_text(out, t->name);
	strbuf_append(out,
		      t->exited ? " <span class=\"tag\">exited</span></td>" : "</td>");
	if (snap->processes.len > 1)
		strbuf_appendf(out, "<td class=\"n\">%d</td>",
			       process ? process->pid : 0);
	html_append_bytes(out, live_bytes(t));
	html_append_bytes(out, t->allocated_bytes);
	html_append_count(out, t->allocations);
	html_append_bytes(out, t->freed_bytes);
	html_append_count(out, t->frees);
	html_append_bytes(out, t->freed_by_others_bytes);
	strbuf_append(out, "</tr>\n");
}

void html_append_threads(struct strbuf *out, const struct report *report)
{
	const struct snapshot *snap = report->snapshot;
	size_t count = snap->threads.len;
	_cleanup_(freep) const struct snapshot_thread **threads =
		calloc(count + 1, sizeof(const struct snapshot_thread *));

	if (!snap->has_traffic || !count)
		return;
	if (!threads) {
		out->failed = true;
		return;
	}
	for (size_t i = 0; i < count; i++)
		threads[i] = &snap->threads.data[i];
	qsort(threads, count, sizeof(*threads), compare_threads);
	strbuf_appendf(out,
		       "<section id=\"threads\">\n<h2>Threads</h2>\n<table>\n<thead><tr>"
		       "<th scope=\"col\">Thread</th><th scope=\"col\">Name</th>%s"
		       "<th class=\"n\" scope=\"col\">Still live</th><th class=\"n\" "
		       "scope=\"col\">Allocated</th>"
		       "<th class=\"n\" scope=\"col\">Allocations</th><th class=\"n\" "
		       "scope=\"col\">Freed by it</th>"
		       "<th class=\"n\" scope=\"col\">Frees</th><th class=\"n\" "
		       "scope=\"col\">Freed by others</th>"
		       "</tr></thead>\n<tbody>\n",
		       snap->processes.len > 1
			       ? "<th class=\"n\" scope=\"col\">Process</th>"
			       : "");
	for (size_t i = 0; i < count && i < MAX_ROWS; i++)
		append_thread(out, snap, threads[i]);
	strbuf_append(out, "</tbody>\n</table>\n<p class=\"note\">");
	if (count > MAX_ROWS)
		strbuf_appendf(out, "These are the first %d of %zu threads. ", MAX_ROWS,
			       count);
	strbuf_append(out,
		      "Of the heap, as traced. Freed by it: blocks of whichever thread. "
		      "Freed by others: its blocks, by other threads.</p>\n</section>\n");
}
