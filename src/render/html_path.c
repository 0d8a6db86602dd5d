// SPDX-License-Identifier: Apache-2.0
#include "render/html_path.h"

#include <inttypes.h>

#include "render/html_parts.h"
#include "render/text_processes.h"
#include "util/path.h"
#include "util/units.h"

/* Number of functions in the line that is always visible. */
#define SUMMARY_FRAMES 3

/* Append the base name of the module in brackets. Names of the kernel such as "[vdso]"
 * have brackets already. */
static void append_module(struct strbuf *out, const char *module)
{
	const char *name = path_base_name(module);
	bool has_brackets = name[0] == '[';

	strbuf_append(out, has_brackets ? "" : "[");
	html_append_text(out, name);
	strbuf_append(out, has_brackets ? "" : "]");
}

static void append_name(struct strbuf *out, const struct report_frame *frame)
{
	strbuf_append(out, "<code>");
	if (frame->symbol && *frame->symbol)
		html_append_text(out, frame->symbol);
	else if (frame->module)
		append_module(out, frame->module);
	else
		strbuf_append(out, "[unknown]");
	strbuf_append(out, "</code>");
}

static void append_offset(struct strbuf *out, const struct report_frame *frame)
{
	if (frame->inlined)
		strbuf_append(out, " <span class=\"tag\">inlined</span>");
	else if (frame->symbol || frame->module)
		strbuf_appendf(out, "<span class=\"offset\">+0x%" PRIx64 "</span>",
			       frame->offset);
	else
		strbuf_appendf(out, " <span class=\"offset\">0x%" PRIx64 "</span>",
			       frame->address);
}

static void append_frame(struct strbuf *out, const struct report_frame *frame,
			 bool short_paths)
{
	strbuf_append(out, "<li>");
	append_name(out, frame);
	if (!frame->is_gap)
		append_offset(out, frame);
	if (frame->symbol && frame->module) {
		strbuf_append(out, " <span class=\"module\">");
		append_module(out, frame->module);
		strbuf_append(out, "</span>");
	}
	if (frame->file && *frame->file) {
		strbuf_append(out, " <span class=\"place\">");
		html_append_text(out,
				 short_paths ? path_base_name(frame->file) : frame->file);
		if (frame->line)
			strbuf_appendf(out, ":%u", frame->line);
		strbuf_append(out, "</span>");
	}
	strbuf_append(out, "</li>\n");
}

/* Why the stack ends early; NULL if it does not. */
static const char *end_of(const struct report_row *row)
{
	static const char *const ends[STACK_END_COUNT] = {
		[STACK_END_DEPTH] = "cut at the limit of the stack depth",
		[STACK_END_NO_FRAME] = "ends early: no frame pointer to follow",
		[STACK_END_UNREADABLE] = "ends early: stack memory could not be read",
		[STACK_END_CORRUPT] = "ends early: the stack is corrupt",
		[STACK_END_UNLEARNED] = "ends early: unwind rules came too late",
	};

	if (row->stack == SNAPSHOT_NO_STACK)
		return "no stack: it was not stored";
	if (ends[row->end])
		return ends[row->end];
	return row->depth ? NULL : "no frames";
}

/* Append its first functions, and the number of further ones. */
static void append_summary(struct strbuf *out, const struct report_row *row)
{
	size_t named = 0, shown = 0;

	for (size_t i = 0; i < row->depth; i++) {
		if (!report_row_shows(row, i) || shown++ >= SUMMARY_FRAMES)
			continue;
		strbuf_append(out, named++ ? " <span class=\"from\">\u2190</span> " : "");
		append_name(out, row->frames[i]);
	}
	if (shown > named)
		strbuf_appendf(out, " <span class=\"more\">and %zu more</span>",
			       shown - named);
	if (!shown)
		strbuf_append(out, end_of(row));
}

static void append_notes(struct strbuf *out, const struct report *report,
			 const struct report_row *row)
{
	const struct report_flow *flow = &row->flow;

	if (row->traffic)
		strbuf_appendf(out,
			       "<p class=\"note\">Allocated %s in %" PRIu64
			       " blocks, freed %s in %" PRIu64 ", %" PRIu64
			       " of them temporary; held at most "
			       "%s.</p>\n",
			       units_format_bytes(flow->allocated_bytes).s,
			       flow->allocations, units_format_bytes(flow->freed_bytes).s,
			       flow->frees, flow->temporary,
			       units_format_bytes(row->peak_bytes).s);
	if (row->sum.count && !report->options.combined_only) {
		strbuf_appendf(out, "<p class=\"note\">Oldest block %s",
			       units_format_duration(row->oldest_age_ns).s);
		if (row->median_age_ns)
			strbuf_appendf(out, ", half of them %s and more",
				       units_format_duration(row->median_age_ns).s);
		strbuf_appendf(out, ", newest %s.</p>\n",
			       units_format_duration(row->newest_age_ns).s);
	}
	if (row->process_count > 1) {
		strbuf_appendf(out, "<p class=\"note\">In %zu processes (",
			       row->process_count);
		text_append_commands(out, row, html_append_text);
		strbuf_append(out, ").</p>\n");
	} else if (row->process && report->snapshot->processes.len > 1) {
		strbuf_appendf(out, "<p class=\"note\">Process %d (", row->process->pid);
		html_append_text(out, row->process->command);
		strbuf_append(out, ").</p>\n");
	}
	if (row->allocator && report->snapshot->allocators.len > 1) {
		strbuf_append(out, "<p class=\"note\">Allocator ");
		html_append_text(out, row->allocator->label);
		strbuf_append(out, ".</p>\n");
	}
}

void html_append_path(struct strbuf *out, const struct report *report,
		      const struct report_row *row)
{
	const char *end = end_of(row);

	strbuf_append(out, "<details><summary>");
	append_summary(out, row);
	strbuf_append(out, "</summary>\n<ol>\n");
	for (size_t i = 0; i < row->depth; i++) {
		if (report_row_shows(row, i))
			append_frame(out, row->frames[i], report->options.short_paths);
	}
	if (end)
		strbuf_appendf(out, "<li class=\"end\">%s</li>\n", end);
	strbuf_append(out, "</ol>\n");
	append_notes(out, report, row);
	strbuf_append(out, "</details>");
}
