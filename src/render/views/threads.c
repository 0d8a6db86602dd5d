// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "render/columns.h"
#include "render/views/csv_field.h"
#include "render/text/page.h"
#include "render/text_processes.h"
#include "render/text/rows.h"
#include "render/text_words.h"
#include "render/views/all.h"
#include "util/cleanup.h"
#include "util/escape.h"

static void append_thread(struct text_page *page, const struct report_thread *t)
{
	const struct snapshot_thread *thread = t->thread;
	struct strbuf *text = &page->text;
	const uint64_t bytes[] = {t->allocated_bytes, t->freed_own_bytes,
				  t->freed_by_others_bytes, t->freed_of_others_bytes};

	strbuf_appendf(text, "  %10s %10" PRIu64, units_format_bytes(t->live_bytes).s,
		       t->live_count);
	for (size_t i = 0; i < sizeof(bytes) / sizeof(*bytes); i++)
		strbuf_appendf(text, " %12s", units_format_bytes(bytes[i]).s);
	strbuf_append(text, "  ");
	text_append_thread(text, page->report, thread->tid, thread);
	strbuf_append_char(text, '\n');
	text_flush_some(page);
}

#define SHARES_MAX 5

/* Append which threads allocated what the call path holds. */
static void append_line(struct text_page *page, const struct report_section *section,
			const struct report_row *row)
{
	struct strbuf *text = &page->text;

	text_append_sum(page, section, row->sum.estimated_bytes,
			row->sum.estimated_count);
	strbuf_append(text, " from stack  (");
	for (size_t i = 0; i < row->thread_count && i < SHARES_MAX; i++)
		strbuf_appendf(text, "%sthread %" PRIu32 " %s", i ? ", " : "",
			       row->threads[i].tid,
			       text_format_share(row->threads[i].size_bytes,
						 row->sum.estimated_bytes)
				       .s);
	if (row->thread_count > SHARES_MAX)
		strbuf_appendf(text, ", %zu more threads",
			       row->thread_count - SHARES_MAX);
	strbuf_append_char(text, ')');
}

static void append_text(struct text_page *page, const struct report_section *section)
{
	size_t count = page->report->thread_count, shown = count;
	uint64_t top = page->report->options.top;

	static const struct text_rows rows = {
		.heading = "with outstanding allocations, by thread",
		.append_line = append_line,
		.is_of_held = true,
	};

	if (top && top < shown)
		shown = (size_t)top;
	text_append_heading(page, "Top %zu threads by what they hold", shown);
	strbuf_appendf(&page->text, "  %10s %10s %12s %12s %12s %12s  thread\n", "live",
		       "blocks", "allocated", "freed own", "by others", "of others");
	for (size_t i = 0; i < shown; i++)
		append_thread(page, &page->report->threads[i]);
	if (shown < count)
		strbuf_appendf(&page->text,
			       "  ... %zu more threads (--top 0 lists all)\n",
			       count - shown);
	if (!count)
		strbuf_append(&page->text, "  none yet\n");
	text_append_rows(page, section, &rows);
}

#define PRINT_COUNT(name) fprintf(out, "%" PRIu64 ",", thread->name);

static void csv_table(const struct report *report, FILE *out)
{
	for (size_t i = 0; i < report->thread_count; i++) {
		const struct report_thread *t = &report->threads[i];
		const struct snapshot_thread *thread = t->thread;
		_cleanup_(freep) char *name =
			escape_dup(thread->name ? thread->name : "");

		if (t->process)
			fprintf(out, "%d", t->process->pid);
		fprintf(out, ",%" PRIu32 ",", thread->tid);
		csv_write_field(name ? name : "", out);
		fprintf(out, ",%d,", thread->exited);
		FLOW_COLUMNS(PRINT_COUNT);
		fprintf(out,
			"%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
			",%" PRIu64 "\r\n",
			thread->freed_own, thread->freed_own_bytes,
			thread->freed_by_others, thread->freed_by_others_bytes,
			t->live_count, t->live_bytes);
	}
}

const struct view_ops view_threads = {
	.name = "threads",
	.needs = REPORT_DATA_TRAFFIC,
	.sort = REPORT_SORT_SIZE,
	.append_text = append_text,
	.csv_columns = "pid,tid,name,exited," FLOW_HEADS
		       "freed_own,freed_own_bytes,freed_by_others,"
		       "freed_by_others_bytes,live_blocks,live_bytes",
	.csv_table = csv_table,
};
