// SPDX-License-Identifier: Apache-2.0
/* The head of the page: what it is about, the verdict, and how much to trust it. */
#include "render/html/parts.h"

#include <inttypes.h>

#include "render/class_words.h"
#include "render/html/path.h"
#include "render/text/rows.h"
#include "render/text_words.h"
#include "render/verdict_words.h"

void html_append_target(struct strbuf *out, const struct snapshot *snap)
{
	const struct snapshot_process *first = snapshot_process(snap, 0);
	const char *subject = class_words_main(snap)->subject;

	if (snap->processes.len == 1) {
		if (subject && first->pid)
			strbuf_appendf(out, "%s for ", subject);
		else if (!first->command)
			strbuf_append(out, "process");
		html_append_text(out, first->command);
		if (first->pid || !subject)
			strbuf_appendf(out, " (%d)", first->pid);
	} else {
		strbuf_appendf(out, "%zu processes", snap->processes.len);
	}
}

static void append_when(struct strbuf *out, const struct report *report)
{
	strbuf_appendf(out, "%s, %s after the attach (%s)",
		       units_format_time(report->snapshot->wall_ns, UNITS_DATE).s,
		       units_format_duration(report->elapsed_ns).s,
		       report_cause_name(report->cause));
}

/* Append "copy_text leak.c:24 by parse_request". */
static void append_cause(struct strbuf *out, const struct verdict *v)
{
	const struct cause_part *part = v->cause->parts;
	const char *end = text_stack_end(part->row);

	if (part->named_by >= part->row->depth) {
		strbuf_append(out, end ? end : "no frames");
		return;
	}
	html_append_function(out, part->row->frames[part->named_by], true);
	html_append_place(out, part->row, part->named_by);
	if (v->caller) {
		strbuf_append(out, " by ");
		html_append_function(out, v->caller, false);
	}
}

static void append_verdict(struct strbuf *out, const struct report *report,
			   const struct verdict *v)
{
	struct verdict_words words;

	verdict_words_init(&words, v);
	strbuf_appendf(out, "<p id=\"verdict\"%s><strong>%s</strong>",
		       v->kind == VERDICT_LEAKING ? " class=\"leaking\"" : "",
		       strbuf_text(&words.what));
	if (words.share.len) {
		strbuf_append(out, strbuf_text(&words.share));
		append_cause(out, v);
	}
	strbuf_append(out, strbuf_text(&words.more));
	if (snapshot_has_losses(report->snapshot))
		strbuf_append(out, VERDICT_LOSSY);
	strbuf_append(out, "</p>\n");
	out->failed |= verdict_words_failed(&words);
	verdict_words_deinit(&words);
}

/* "Live heap 2.0 MiB in 7 blocks, +1.2 KiB since the report before." for each section. */
static void append_live(struct strbuf *out, const struct report *report)
{
	strbuf_append(out, "<p class=\"live\">");
	for (size_t i = 0; i < report->section_count; i++) {
		const struct report_section *section = &report->sections[i];
		uint64_t count = section->live.estimated_count;

		strbuf_appendf(out, "%s%s <strong>%s</strong> in %" PRIu64 " %s",
			       i ? ". " : "", class_words(section->class)->title,
			       units_format_bytes(section->live.estimated_bytes).s, count,
			       class_blocks(section->class, count));
		if (report->has_growth)
			strbuf_appendf(
				out, ", %s since the report before",
				text_format_growth(section->estimated_live_growth_bytes)
					.s);
	}
	strbuf_append(out, ".</p>\n");
}

/* Append notes about blocks that are left out and numbers that are estimates. */
static void append_conditions(struct strbuf *out, const struct report *report)
{
	const struct snapshot *snap = report->snapshot;

	if (sampling_is_on(&snap->sampling))
		strbuf_appendf(out,
			       "<p class=\"note\">Heap numbers are estimates from one "
			       "allocation in %s.</p>\n",
			       sampling_format_interval(&snap->sampling).s);
	if (snap->min_size_bytes)
		strbuf_appendf(out,
			       "<p class=\"note\">Blocks of less than %s were not "
			       "traced.</p>\n",
			       units_format_bytes(snap->min_size_bytes).s);
	if (snap->max_size_bytes != UINT64_MAX)
		strbuf_appendf(out,
			       "<p class=\"note\">Blocks of more than %s were not "
			       "traced.</p>\n",
			       units_format_bytes(snap->max_size_bytes).s);
	if (!report->options.combined_only && report->options.older_ns)
		strbuf_appendf(
			out,
			"<p class=\"note\">Blocks younger than %s are in the totals, "
			"not in call paths.</p>\n",
			units_format_duration(report->options.older_ns).s);
}

/* Append the program, or the library that chose the processes. */
static void append_subject(struct strbuf *out, const struct snapshot *snap)
{
	const struct snapshot_process *first = snapshot_process(snap, 0);

	if (snap->processes.len == 1 && first->executable) {
		strbuf_append(out, "<p class=\"note\"><code>");
		html_append_text(out, first->executable);
		strbuf_append(out, "</code></p>\n");
	}
	if (snap->library) {
		strbuf_append(out, "<p class=\"note\">Every process that maps <code>");
		html_append_text(out, snap->library);
		strbuf_append(out, "</code></p>\n");
	}
}

void html_append_header(struct strbuf *out, const struct report *report,
			const struct judgement *judgement)
{
	strbuf_append(out, "<header>\n<h1>");
	html_append_target(out, report->snapshot);
	strbuf_append(out, "</h1>\n<p class=\"when\">memtrace, ");
	append_when(out, report);
	strbuf_append(out, "</p>\n");
	append_verdict(out, report, &judgement->verdict);
	append_live(out, report);
	html_append_losses(out, report);
	append_conditions(out, report);
	append_subject(out, report->snapshot);
	strbuf_append(out, "</header>\n");
}
