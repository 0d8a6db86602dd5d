// SPDX-License-Identifier: Apache-2.0
#include "render/json/rows.h"

#include <math.h>

#include "render/columns.h"
#include "render/json/fields.h"
#include "render/json/traffic.h"
#include "render/json/unreachable.h"
#include "render/json/values.h"
#include "render/suspect_words.h"
#include "report/functions.h"
#include "report/histogram.h"
#include "util/cleanup.h"
#include "util/saturate.h"

/* --- frames ----------------------------------------------------------------------- */

static json_t *number_or_null(bool is_known, uint64_t n)
{
	return is_known ? json_unsigned(n) : json_null();
}

static void make_frame(const void *arg, const struct report_frame *frame,
		       struct strbuf *text)
{
	struct json_stream made = {.text = *text};
	struct json_fields f = fields_begin();

	(void)arg;
	json_stream_open(&made, NULL, '{');
	if (frame->is_gap)
		fields_set(&f, "address", json_null());
	else
		json_stream_address(&made, "address", frame->address);
	fields_text(&f, "symbol", frame->symbol);
	fields_set(&f, "offset",
		   number_or_null(!frame->inlined && !frame->is_gap, frame->offset));
	fields_text(&f, "module", frame->module);
	fields_text(&f, "build_id", frame->build_id);
	fields_text(&f, "file", frame->file);
	fields_set(&f, "line", number_or_null(frame->line, frame->line));
	fields_set(&f, "column", number_or_null(frame->column, frame->column));
	fields_set(&f, "inlined", json_boolean(frame->inlined));
	json_stream_members(&made, fields_end(&f));
	json_stream_close(&made, '}');
	*text = made.text;
}

static void write_frames(struct json_page *page, const struct report_row *row)
{
	struct json_stream *s = &page->stream;

	json_stream_open(s, "frames", '[');
	for (size_t i = 0; i < row->depth; i++) {
		json_stream_key(s, NULL);
		frame_texts_append(&page->frames, row->frames[i], make_frame, NULL,
				   &s->text);
	}
	json_stream_close(s, ']');
}

/* --- rows ------------------------------------------------------------------------- */

/* Write "stack", the index in the snapshot, and "pid"; null if not known or, for the pid,
 * if there are several. */
static void write_id(struct json_stream *s, const struct report_row *row,
		     const struct snapshot_process *process)
{
	if (row->stack == SNAPSHOT_NO_STACK)
		json_stream_null(s, "stack");
	else
		json_stream_unsigned(s, "stack", row->stack);
	if (process)
		json_stream_integer(s, "pid", process->pid);
	else
		json_stream_null(s, "pid");
}

/* Write the processes that hold the row's blocks, or had its hits. */
static void write_processes(struct json_page *page, const struct report_row *row,
			    bool is_event)
{
	struct json_stream *s = &page->stream;

	if (report_is_of_one(page->report))
		return;
	json_stream_open(s, "processes", '[');
	for (size_t i = 0; i < row->process_count; i++) {
		const struct report_holder *holder = &row->processes[i];

		json_stream_open(s, NULL, '{');
		if (holder->process)
			json_stream_integer(s, "pid", holder->process->pid);
		else
			json_stream_null(s, "pid");
		if (!is_event)
			json_stream_unsigned(s, "size_bytes", holder->size_bytes);
		json_stream_unsigned(s, is_event ? "count" : "blocks", holder->count);
		json_stream_close(s, '}');
	}
	json_stream_close(s, ']');
}

static void write_size(struct json_stream *s, size_t bucket, uint64_t count)
{
	json_stream_open(s, NULL, '{');
	json_stream_unsigned(s, "min_bytes", histogram_min_bytes(bucket));
	json_stream_unsigned(s, "max_bytes", histogram_max_bytes(bucket));
	json_stream_unsigned(s, "blocks", count);
	json_stream_close(s, '}');
}

void json_write_live_sizes(struct json_page *page, const struct report_section *section)
{
	json_stream_open(&page->stream, "live_sizes", '[');
	for (size_t i = 0; i < SNAPSHOT_BUCKETS; i++) {
		if (section->live_sizes[i])
			write_size(&page->stream, i, section->live_sizes[i]);
	}
	json_stream_close(&page->stream, ']');
}

static void write_sizes(struct json_stream *s, const struct report_row *row)
{
	json_stream_open(s, "sizes", '[');
	for (size_t i = 0; i < row->size_count; i++)
		write_size(s, row->sizes[i].bucket, row->sizes[i].count);
	json_stream_close(s, ']');
}

static void write_shares(struct json_stream *s, const struct report_row *row)
{
	json_stream_open(s, "threads", '[');
	for (size_t i = 0; i < row->thread_count; i++) {
		json_stream_open(s, NULL, '{');
		json_stream_unsigned(s, "tid", row->threads[i].tid);
		json_stream_unsigned(s, "size_bytes", row->threads[i].size_bytes);
		json_stream_unsigned(s, "blocks", row->threads[i].count);
		json_stream_close(s, '}');
	}
	json_stream_close(s, ']');
}

/* Write the members that every block has. */
static void write_block(struct json_page *page, const struct snapshot_block *block)
{
	struct json_stream *s = &page->stream;
	uint64_t now_ns = page->report->snapshot->time_ns;

	json_stream_address(s, "address", block->address);
	json_stream_unsigned(s, "size_bytes", block->size_bytes);
	json_stream_unsigned(s, "age_ns", saturate_subtract(now_ns, block->time_ns));
	json_stream_unsigned(s, "tid", block->tid);
}

static void write_blocks(struct json_page *page, const struct report_row *row)
{
	struct json_stream *s = &page->stream;

	if (!page->report->options.show_blocks)
		return;
	json_stream_open(s, "allocations", '[');
	for (size_t i = 0; i < row->block_count; i++) {
		json_stream_open(s, NULL, '{');
		write_block(page, row->blocks[i]);
		json_stream_close(s, '}');
		json_stream_flush_some(s);
	}
	json_stream_close(s, ']');
}

static void write_held(struct json_stream *s, const struct report_section *section,
		       const struct report_row *row)
{
	json_stream_text(s, "allocator", row->allocator ? row->allocator->label : NULL);
	json_stream_unsigned(s, "size_bytes", row->sum.size_bytes);
	json_stream_unsigned(s, "blocks", row->sum.count);
	json_stream_integer(s, "growth_bytes", row->growth_bytes);
	json_stream_integer(s, "growth_blocks", row->growth_count);
	json_stream_unsigned(s, "oldest_age_ns", row->oldest_age_ns);
	json_stream_unsigned(s, "newest_age_ns", row->newest_age_ns);
	json_stream_unsigned(s, "median_age_ns", row->median_age_ns);
	if (!section->is_estimate)
		return;
	json_stream_unsigned(s, "estimated_size_bytes", row->sum.estimated_bytes);
	json_stream_unsigned(s, "estimated_blocks", row->sum.estimated_count);
	json_stream_integer(s, "estimated_growth_bytes", row->estimated_growth_bytes);
	json_stream_integer(s, "estimated_growth_blocks", row->estimated_growth_count);
}

#define WRITE_COUNT(name) json_stream_unsigned(s, #name, flow->name);

static void write_flow(struct json_stream *s, const char *key,
		       const struct report_flow *flow)
{
	json_stream_open(s, key, '{');
	FLOW_COLUMNS(WRITE_COUNT);
	json_stream_unsigned(s, "temporary", flow->temporary);
	json_stream_close(s, '}');
}

static void write_row(struct json_page *page, const struct report_section *section,
		      const struct report_row *row)
{
	const struct snapshot *snap = page->report->snapshot;
	struct json_stream *s = &page->stream;

	write_id(s, row, row->process);
	write_processes(page, row, false);
	write_held(s, section, row);
	write_sizes(s, row);
	write_shares(s, row);
	if (row->traffic)
		write_flow(s, "since_previous", &row->since_traced);
	json_stream_text(s, "end", stack_end_name(row->end));
	if (snap->has_trends)
		json_write_trend(s, snap, section->class, row);
	if (report_section_has(page->report, section, REPORT_DATA_TRAFFIC))
		json_write_traffic(s, snap, row);
	json_write_unreachable(s, row);
	write_frames(page, row);
	write_blocks(page, row);
}

static void write_event_row(struct json_page *page, const struct report_section *section,
			    const struct report_row *row)
{
	struct json_stream *s = &page->stream;

	(void)section;
	write_id(s, row, row->process);
	write_processes(page, row, true);
	json_stream_unsigned(s, "count", row->sum.count);
	if (page->report->snapshot->event_bytes)
		json_stream_unsigned(s, "size_bytes", row->sum.size_bytes);
	json_stream_integer(s, "growth", row->growth_count);
	json_stream_text(s, "end", stack_end_name(row->end));
	write_frames(page, row);
}

size_t json_shown(const struct report *report, size_t count)
{
	uint64_t most = functions_are_shown(report) ? report->options.entries : 0;

	return most && most < count ? (size_t)most : count;
}

static void write_list(struct json_page *page, const struct report_section *section,
		       void (*write)(struct json_page *page,
				     const struct report_section *section,
				     const struct report_row *row))
{
	struct json_stream *s = &page->stream;
	size_t shown = json_shown(page->report, section->row_count);

	json_stream_open(s, "stacks", '[');
	for (size_t i = 0; i < shown && !s->text.failed; i++) {
		json_stream_open(s, NULL, '{');
		write(page, section, &section->rows[i]);
		json_stream_close(s, '}');
		json_stream_flush_some(s);
	}
	json_stream_close(s, ']');
}

void json_write_rows(struct json_page *page, const struct report_section *section)
{
	write_list(page, section, write_row);
}

void json_write_event_rows(struct json_page *page, const struct report_section *section)
{
	write_list(page, section, write_event_row);
}

/* --- suspects and largest blocks -------------------------------------------------- */

static void write_suspect(struct json_page *page, const struct report_section *section,
			  const struct report_suspect *suspect)
{
	const struct report_row *row = suspect->row;
	_cleanup_(strbuf_deinit) struct strbuf why = {0};
	struct json_stream *s = &page->stream;
	double slope = suspect->slope_bytes_per_s;

	write_id(s, row, row->process);
	write_processes(page, row, false);
	json_stream_unsigned(s, "size_bytes", row->sum.size_bytes);
	json_stream_unsigned(s, "blocks", row->sum.count);
	json_stream_real(s, "slope_bytes_per_s", isfinite(slope) ? slope : 0);
	json_write_trend(s, page->report->snapshot, section->class, row);
	json_stream_unsigned(s, "oldest_age_ns", row->oldest_age_ns);
	text_append_why(&why, page->report, suspect, true);
	s->text.failed |= why.failed;
	json_stream_text(s, "why", strbuf_text(&why));
	write_frames(page, row);
}

void json_write_suspects(struct json_page *page, const struct report_section *section)
{
	struct json_stream *s = &page->stream;
	size_t shown = json_shown(page->report, section->suspect_count);

	json_stream_open(s, "suspects", '[');
	for (size_t i = 0; i < shown && !s->text.failed; i++) {
		json_stream_open(s, NULL, '{');
		write_suspect(page, section, &section->suspects[i]);
		json_stream_close(s, '}');
		json_stream_flush_some(s);
	}
	json_stream_close(s, ']');
}

void json_write_singles(struct json_page *page, const struct report_section *section)
{
	struct json_stream *s = &page->stream;

	json_stream_open(s, "largest", '[');
	for (size_t i = 0; i < section->single_count && !s->text.failed; i++) {
		json_stream_open(s, NULL, '{');
		write_block(page, section->singles[i].block);
		write_id(s, section->singles[i].row, section->singles[i].process);
		json_stream_close(s, '}');
		json_stream_flush_some(s);
	}
	json_stream_close(s, ']');
}
