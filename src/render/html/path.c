// SPDX-License-Identifier: Apache-2.0
#include "render/html/path.h"

#include <inttypes.h>

#include "render/text/brief_frames.h"
#include "render/text/rows.h"
#include "render/html/parts.h"
#include "render/text_processes.h"
#include "util/path.h"
#include "util/units.h"

/* Number of functions in the line that is always visible, from the own code on. */
#define SUMMARY_FRAMES 3

/* Longer names are cut; the list of frames has them whole. */
#define NAME_COLUMNS 120

void html_append_function(struct strbuf *out, const struct report_frame *frame,
			  bool is_first)
{
	struct strbuf name = {0}, cut = {0};

	brief_append_name(&name, frame);
	text_append_within(&cut, strbuf_text(&name), NAME_COLUMNS, true);
	strbuf_append(out, is_first ? "<code class=\"first\">" : "<code>");
	html_move_text(out, &cut);
	strbuf_append(out, "</code>");
	out->failed |= name.failed;
	strbuf_deinit(&name);
}

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

/* Append a frame with everything that is known of it. */
static void append_frame(struct strbuf *out, const struct report_frame *frame,
			 bool short_paths)
{
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
}

void html_append_place(struct strbuf *out, const struct report_row *row, size_t frame)
{
	struct strbuf place = {0};

	brief_append_place(&place, row->frames[frame],
			   row->frames_of ? row->frames_of->executable : NULL);
	if (place.len) {
		strbuf_append(out, " <span class=\"place\">");
		html_move_text(out, &place);
		strbuf_append(out, "</span>");
	}
	out->failed |= place.failed;
	strbuf_deinit(&place);
}

/* The innermost frame of the user's own code; the depth if no frame is. */
static size_t find_own(const struct causes *causes, const struct report_row *row)
{
	size_t i = 0;

	while (i < row->depth &&
	       (causes_origin(causes, row->frames[i])->kind != CODE_OWN ||
		!report_row_shows(row, i) || row->frames[i]->is_gap))
		i++;
	return i;
}

static void append_arrow(struct strbuf *out)
{
	strbuf_append(out, " <span class=\"from\">\u2190</span> ");
}

static size_t count_shown(const struct report_row *row, size_t from, size_t to)
{
	size_t count = 0;

	for (size_t i = from; i < to; i++)
		count += report_row_shows(row, i);
	return count;
}

/* Append the innermost function and the first ones from the own code on. `folded` frames
 * between them are counted. */
static void append_summary(struct strbuf *out, const struct causes *causes,
			   const struct report_row *row)
{
	size_t own = find_own(causes, row), named = 0, first = 0, i = 0, rest;

	while (first < row->depth && !report_row_shows(row, first))
		first++;
	if (first == row->depth) {
		strbuf_append(out, text_stack_end(row));
		return;
	}
	if (own == row->depth)
		own = first;
	if (own > first) {
		size_t between = count_shown(row, first + 1, own);

		html_append_function(out, row->frames[first], false);
		append_arrow(out);
		if (between) {
			strbuf_appendf(out, "<span class=\"more\">%zu %s</span>", between,
				       between == 1 ? "frame" : "frames");
			append_arrow(out);
		}
	}
	for (i = own; i < row->depth && named < SUMMARY_FRAMES; i++) {
		if (!report_row_shows(row, i))
			continue;
		if (named++)
			append_arrow(out);
		html_append_function(out, row->frames[i],
				     i == own && find_own(causes, row) == own);
	}
	rest = count_shown(row, i, row->depth);
	if (rest)
		strbuf_appendf(out, " <span class=\"more\">and %zu more</span>", rest);
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

/* "first": the innermost own function, "own", or "other". */
static const char *whose_code(const struct causes *causes, const struct report_row *row,
			      size_t frame, size_t own)
{
	if (frame == own)
		return "first";
	return causes_origin(causes, row->frames[frame])->kind == CODE_OWN ? "own"
									   : "other";
}

void html_append_frames(struct strbuf *out, const struct report *report,
			const struct causes *causes, const struct report_row *row,
			bool whole_names)
{
	const char *end = text_stack_end(row);
	size_t own = find_own(causes, row);

	strbuf_append(out, "<ol class=\"frames\">\n");
	for (size_t i = 0; i < row->depth; i++) {
		if (!report_row_shows(row, i))
			continue;
		strbuf_appendf(out, "<li class=\"%s\">", whose_code(causes, row, i, own));
		if (whole_names) {
			append_frame(out, row->frames[i],
				     report->options.paths == REPORT_FORM_SHORT);
		} else {
			html_append_function(out, row->frames[i], false);
			html_append_place(out, row, i);
		}
		strbuf_append(out, "</li>\n");
	}
	if (end)
		strbuf_appendf(out, "<li class=\"end\">%s</li>\n", end);
	strbuf_append(out, "</ol>\n");
	append_notes(out, report, row);
}

void html_append_path(struct strbuf *out, const struct report *report,
		      const struct causes *causes, const struct report_row *row,
		      bool whole_names)
{
	strbuf_append(out, "<details><summary>");
	append_summary(out, causes, row);
	strbuf_append(out, "</summary>\n");
	html_append_frames(out, report, causes, row, whole_names);
	strbuf_append(out, "</details>");
}
