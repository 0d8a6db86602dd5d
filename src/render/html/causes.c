// SPDX-License-Identifier: Apache-2.0
/* The call paths grouped by cause. */
#include "render/html/parts.h"

#include <inttypes.h>

#include "render/text/brief_causes.h"
#include "render/text/brief_frames.h"
#include "render/brief_rate.h"
#include "render/class_words.h"
#include "render/html/path.h"
#include "render/text/rows.h"
#include "render/suspect_words.h"
#include "render/text_words.h"
#include "util/saturate.h"

/* Causes that are visible at once, of the first section and of each other one. */
#define CAUSES_FIRST    10
#define CAUSES_OTHER    4

#define CAUSES_MAX      100
#define PARTS_MAX       20
#define CALLERS_COLUMNS 90

struct list {
	const struct report *report;
	const struct report_section *section;
	const struct causes *causes;
	struct brief_rate rate; /* unit of all slopes */
	struct strbuf *out;
};

/* --- numbers ------------------------------------------------------------------------ */

/* Append "+2.7 MiB/min", or "<0.1 MiB/min". */
static void append_rate(const struct list *list, double slope)
{
	struct units_text rate = brief_rate_format(&list->rate, slope);

	if (!(slope > 0))
		return;
	strbuf_append(list->out, *rate.s == '<' ? "" : "+");
	html_append_text(list->out, rate.s);
}

/* Append bytes, rate and share: of live memory, as everywhere on the page. The rate is
 * shown only with leak suspects. */
static void append_numbers(const struct list *list, uint64_t size_bytes, double slope)
{
	uint64_t live_bytes = list->section->live.estimated_bytes;

	strbuf_appendf(list->out,
		       "<span class=\"held\" title=\"%" PRIu64 " bytes\">%s</span> ",
		       size_bytes, units_format_bytes(size_bytes).s);
	if (list->causes->suspect_count) {
		strbuf_append(list->out, "<span class=\"rate\">");
		append_rate(list, slope);
		strbuf_append(list->out, "</span> ");
	}
	strbuf_appendf(list->out, "<span class=\"share\">%s</span> ",
		       text_format_share(size_bytes, live_bytes).s);
	html_append_bar_picture(list->out, size_bytes, live_bytes);
}

static void append_heads(const struct list *list)
{
	strbuf_append(list->out, "<p class=\"heads\" aria-hidden=\"true\"><span "
				 "class=\"held\">Live</span> ");
	if (list->causes->suspect_count)
		strbuf_append(list->out, "<span class=\"rate\">Grows by</span> ");
	strbuf_appendf(list->out,
		       "<span class=\"share\">Share</span> <span class=\"bar\">of "
		       "%s</span> <span class=\"who\">Function</span></p>\n",
		       class_words(list->section->class)->name);
}

/* --- one cause ---------------------------------------------------------------------- */

static void append_name(struct strbuf *out, const struct cause_part *part)
{
	const struct report_row *row = part->row;
	const char *end = text_stack_end(row);

	if (part->named_by >= row->depth) {
		strbuf_append(out, end ? end : "no frames");
		return;
	}
	html_append_function(out, row->frames[part->named_by], true);
	html_append_place(out, row, part->named_by);
}

/* "in 1200 blocks, grew in 6 of 6 intervals, oldest 25 s; from process, serve". */
static void append_line(const struct list *list, const struct cause *cause)
{
	struct strbuf text = {0}, callers = {0};

	brief_append_blocks(&text, list->report, list->section, cause, true);
	brief_append_callers(&callers, list->causes, cause, CALLERS_COLUMNS, true);
	if (callers.len) {
		strbuf_append(&text, "; from ");
		strbuf_append(&text, callers.data);
	}
	text.failed |= callers.failed;
	html_move_text(list->out, &text);
	strbuf_deinit(&callers);
}

static void append_trend(const struct list *list, const struct cause_part *part)
{
	if (part->slope_bytes_per_s <= 0)
		return;
	strbuf_append(list->out, "<p class=\"note\">It ");
	text_append_trend(list->out, part->row->trend, true);
	strbuf_append(list->out, ".</p>\n");
}

static void append_part(const struct list *list, const struct cause_part *part)
{
	strbuf_append(list->out, "<li>");
	append_numbers(list, part->row->sum.estimated_bytes, part->slope_bytes_per_s);
	strbuf_append(list->out, "<div class=\"who\">");
	html_append_path(list->out, list->report, list->causes, part->row, false);
	append_trend(list, part);
	strbuf_append(list->out, "</div></li>\n");
}

static void append_parts(const struct list *list, const struct cause *cause)
{
	uint64_t rest = cause->sum.estimated_bytes;
	size_t i;

	strbuf_append(list->out, "<ul class=\"parts\">\n");
	for (i = 0; i < cause->part_count && i < PARTS_MAX; i++) {
		append_part(list, &cause->parts[i]);
		rest = saturate_subtract(rest, cause->parts[i].row->sum.estimated_bytes);
	}
	strbuf_append(list->out, "</ul>\n");
	if (i < cause->part_count)
		strbuf_appendf(list->out,
			       "<p class=\"note\">%zu more call %s with %s.</p>\n",
			       cause->part_count - i,
			       text_plural(cause->part_count - i, "path", "paths"),
			       units_format_bytes(rest).s);
}

static void append_cause(const struct list *list, const struct cause *cause)
{
	struct strbuf *out = list->out;

	strbuf_appendf(out, "<details class=\"cause prints%s\"><summary>",
		       cause->slope_bytes_per_s > 0 ? " suspect" : "");
	append_numbers(list, cause->sum.estimated_bytes, cause->slope_bytes_per_s);
	strbuf_append(out, "<span class=\"who\">");
	append_name(out, cause->parts);
	strbuf_append(out, " <span class=\"line\">");
	append_line(list, cause);
	strbuf_append(out, "</span></span></summary>\n");
	if (cause->part_count == 1) {
		html_append_frames(out, list->report, list->causes, cause->parts->row,
				   false);
		append_trend(list, cause->parts);
	} else {
		append_parts(list, cause);
	}
	strbuf_append(out, "</details>\n");
}

/* --- the list ----------------------------------------------------------------------- */

static void append_heading(const struct list *list, size_t index)
{
	size_t suspects = list->causes->suspect_count;
	struct strbuf text = {0};

	if (index != 0 && index != suspects)
		return;
	brief_append_heading(&text, list->section, list->causes, index < suspects);
	strbuf_append(list->out, "<h2>");
	html_move_text(list->out, &text);
	strbuf_append(list->out, "</h2>\n");
	if (!index)
		append_heads(list);
}

static void append_range(const struct list *list, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		append_heading(list, i);
		append_cause(list, &list->causes->list[i]);
	}
}

/* The bytes of the causes from `from` on. */
static uint64_t sum_from(const struct list *list, size_t from)
{
	uint64_t sum = 0;

	for (size_t i = from; i < list->causes->count; i++)
		sum = saturate_add(sum, list->causes->list[i].sum.estimated_bytes);
	return sum;
}

static void append_list(const struct list *list, size_t visible)
{
	size_t all = list->causes->count, count = all < CAUSES_MAX ? all : CAUSES_MAX;
	struct strbuf *out = list->out;

	visible = visible < count ? visible : count;
	append_range(list, 0, visible);
	if (visible == all)
		return;
	strbuf_appendf(out,
		       "<details class=\"more-causes\"><summary>%zu more %s with "
		       "%s</summary>\n",
		       all - visible, text_plural(all - visible, "cause", "causes"),
		       units_format_bytes(sum_from(list, visible)).s);
	append_range(list, visible, count);
	if (count < all)
		strbuf_appendf(out,
			       "<p class=\"note\">%zu more causes are not listed, with "
			       "%s.</p>\n",
			       all - count, units_format_bytes(sum_from(list, count)).s);
	strbuf_append(out, "</details>\n");
}

static void append_none(const struct list *list)
{
	struct strbuf text = {0};

	brief_append_none(&text, list->report, list->section);
	strbuf_appendf(list->out, "<h2>%s</h2>\n<p>",
		       class_words(list->section->class)->title);
	if (!text.len)
		strbuf_append(list->out, "None.");
	html_move_text(list->out, &text);
	strbuf_append(list->out, "</p>\n");
}

static void append_left_out(struct strbuf *out, const struct report_left_out *left_out,
			    const char *how)
{
	if (left_out->stack_count)
		strbuf_appendf(out,
			       "<p class=\"note\">%" PRIu64
			       " call %s with %s left out by "
			       "%s.</p>\n",
			       left_out->stack_count,
			       text_plural(left_out->stack_count, "path", "paths"),
			       units_format_bytes(left_out->sum.estimated_bytes).s, how);
}

static void append_section(struct strbuf *out, const struct report *report,
			   const struct report_section *section,
			   const struct causes *causes, size_t visible)
{
	struct list list = {report, section, causes, .out = out};

	brief_rate_init(&list.rate,
			causes->suspect_count ? causes->list->slope_bytes_per_s : 0);
	strbuf_appendf(out, "<section class=\"causes%s\">\n",
		       causes->suspect_count ? " with-rates" : "");
	if (causes->count)
		append_list(&list, visible);
	else
		append_none(&list);
	append_left_out(out, &section->filtered, "--filter or --exclude");
	append_left_out(out, &section->skipped, "--skip-size or --skip-count");
	append_left_out(out, &section->suppressed, "--suppressions");
	strbuf_append(out, "</section>\n");
}

void html_append_causes(struct strbuf *out, const struct report *report,
			const struct judgement *judgement)
{
	for (size_t i = 0; i < report->section_count; i++)
		append_section(out, report, &report->sections[i], &judgement->causes[i],
			       i ? CAUSES_OTHER : CAUSES_FIRST);
}
