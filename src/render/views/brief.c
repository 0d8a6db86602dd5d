// SPDX-License-Identifier: Apache-2.0
#include "render/formats.h"

#include <inttypes.h>

#include "render/text/brief_causes.h"
#include "render/text/brief_page.h"
#include "render/text/brief_verdict.h"
#include "render/class_words.h"
#include "render/text/timeline.h"
#include "render/text/head.h"
#include "render/text/sums.h"
#include "render/text_processes.h"
#include "render/text_words.h"

/* The terminal shows the last of its lines, and the shell's prompt below them. Whatever
 * its height, the first cause is among so many last lines. */
#define LAST_LINES 24

/* Lines around the list of causes: the prompt, the verdict and an empty line above it. */
#define LINES_BELOW 3

/* Lines above the list: an empty line and the heading. */
#define LINES_ABOVE    2
#define LINES_MIN      3

#define PROCESSES_MOST 3

/* Columns of a line of the timeline beside the curve itself. */
#define CURVE_BESIDE 42

/* The label of a line of the text report ends here. */
#define LABEL_END 14

/* --- head --------------------------------------------------------------------------- */

static void trim(char *text)
{
	size_t len = strlen(text);

	while (len && text[len - 1] == ' ')
		text[--len] = '\0';
}

/* Put the lines of a text report, which are "  label       text", in the width of the
 * page. */
static void put_text_lines(struct brief_page *page, struct strbuf *text)
{
	char *line = text->data, *end;

	for (; line && (end = strchr(line, '\n')); line = end + 1) {
		char label[LABEL_END] = "";

		*end = '\0';
		if (end - line < LABEL_END)
			continue;
		snprintf(label, sizeof(label), "%.*s", LABEL_END - 2, line + 2);
		trim(label);
		/* The title says it. */
		if (!strcmp(label, "traced"))
			continue;
		brief_put_labelled(page, label, line + LABEL_END);
	}
	page->text.failed |= text->failed;
}

static void put_losses(struct brief_page *page)
{
	struct text_page losses = {.report = page->report};
	char *line, *end;

	text_append_losses(&losses);
	for (line = losses.text.data; line && (end = strchr(line, '\n'));
	     line = end + 1) {
		bool is_heading = *line != ' ';

		*end = '\0';
		if (!*line)
			continue;
		if (!is_heading)
			brief_indent(page, 2);
		brief_put_words(page, is_heading ? TEXT_WARNING : TEXT_PLAIN, 4,
				line + strspn(line, " "));
		brief_end_line(page);
	}
	page->text.failed |= losses.text.failed;
	strbuf_deinit(&losses.text);
}

static void put_title(struct brief_page *page)
{
	struct strbuf text = {0};

	/* Reports follow each other. */
	if (page->report->sequence > 1)
		brief_end_line(page);
	text_append_subject(&text, page->report);
	strbuf_appendf(&text, ", %s traced",
		       units_format_duration(page->report->elapsed_ns).s);
	brief_put_words(page, TEXT_TITLE, 2, strbuf_text(&text));
	brief_end_line(page);
	page->text.failed |= text.failed;
	strbuf_deinit(&text);
}

static void put_live(struct brief_page *page, const struct report_section *section)
{
	const struct report *report = page->report;
	const struct class_words *w = class_words(section->class);
	uint64_t count = section->live.estimated_count;
	struct strbuf text = {0};

	strbuf_appendf(&text, "%s live in %" PRIu64 " %s",
		       units_format_bytes(section->live.estimated_bytes).s, count,
		       text_plural(count, w->block, w->blocks));
	if (report->has_growth)
		strbuf_appendf(
			&text, ", %s since the last report",
			text_format_growth(section->estimated_live_growth_bytes).s);
	brief_put_labelled(page, w->name, strbuf_text(&text));
	page->text.failed |= text.failed;
	strbuf_deinit(&text);
}

/* "processes 4321 (leaky) 2.0 MiB, 99 (sh) 12 B, 77 (idle) 0 B". */
static void put_processes(struct brief_page *page, const struct report_section *section)
{
	struct strbuf text = {0};
	size_t shown = section->process_count < PROCESSES_MOST ? section->process_count
							       : PROCESSES_MOST;

	if (report_is_of_one(page->report))
		return;
	for (size_t i = 0; i < shown; i++) {
		strbuf_append(&text, i ? ", " : "");
		text_append_process(&text, section->processes[i].process);
		strbuf_appendf(
			&text, " %s",
			units_format_bytes(section->processes[i].live.estimated_bytes).s);
	}
	if (shown < section->process_count)
		strbuf_appendf(&text, ", %zu more", section->process_count - shown);
	brief_put_labelled(page, "processes", text.len ? text.data : "none yet");
	page->text.failed |= text.failed;
	strbuf_deinit(&text);
}

static void put_head(struct brief_page *page)
{
	const struct report *report = page->report;
	struct text_page text = {.report = report};

	put_title(page);
	text_append_cause(&text);
	text_append_tracing(&text);
	put_text_lines(page, &text.text);
	for (size_t i = 0; i < report->section_count; i++) {
		put_live(page, &report->sections[i]);
		put_processes(page, &report->sections[i]);
		strbuf_clear(&text.text);
		text_append_left_out(&text, &report->sections[i]);
		text_append_failures(&text, &report->sections[i]);
		text_append_unreachable(&text, &report->sections[i]);
		put_text_lines(page, &text.text);
	}
	strbuf_clear(&text.text);
	if (page->columns > CURVE_BESIDE)
		text_append_curve(&text, page->columns - CURVE_BESIDE);
	put_text_lines(page, &text.text);
	strbuf_deinit(&text.text);
	put_losses(page);
}

/* --- causes ------------------------------------------------------------------------- */

/* The lines that the list may take behind its first heading. */
static size_t find_room(const struct brief_page *page)
{
	size_t lines = page->report->options.lines, most;
	size_t around = page->lines + LINES_ABOVE + LINES_BELOW;

	if (!lines)
		return SIZE_MAX;
	most = lines > around ? lines - around : 0;
	if (most > LAST_LINES - LINES_BELOW)
		most = LAST_LINES - LINES_BELOW;
	return most > LINES_MIN ? most : LINES_MIN;
}

/* A later section has a third of the room. */
static size_t room_of(const struct report *report, size_t section, size_t room)
{
	if (room == SIZE_MAX || report->section_count == 1)
		return room;
	if (section)
		return room / 3 > LINES_MIN ? room / 3 : LINES_MIN;
	return room / 3 * 2 > LINES_MIN + LINES_ABOVE ? room / 3 * 2 - LINES_ABOVE
						      : LINES_MIN;
}

static void put_none(struct brief_page *page, const struct report_section *section)
{
	struct strbuf text = {0};

	brief_append_none(&text, page->report, section);
	if (text.len) {
		brief_end_line(page);
		brief_indent(page, 2);
		brief_put(page, TEXT_PLAIN, text.data);
		brief_end_line(page);
	}
	page->text.failed |= text.failed;
	strbuf_deinit(&text);
}

static struct error *put_sections(struct brief_page *page)
{
	const struct report *report = page->report;
	size_t room = find_room(page);
	struct judgement judgement;
	struct error *err = judgement_init(&judgement, report, NULL);

	for (size_t i = 0; !err && i < report->section_count; i++) {
		const struct report_section *section = &report->sections[i];

		if (judgement.causes[i].count)
			brief_put_causes(page, section, &judgement.causes[i],
					 room_of(report, i, room));
		else
			put_none(page, section);
	}
	if (!err) {
		brief_end_line(page);
		brief_put_verdict(page, &judgement.verdict);
	}
	judgement_deinit(&judgement);
	return err;
}

static struct error *render_brief(const struct report *report, FILE *out)
{
	struct brief_page page;
	struct error *err;

	if (!class_words_main(report->snapshot)->is_live)
		return text_renderer.render(report, out);
	brief_page_init(&page, report);
	put_head(&page);
	err = put_sections(&page);
	if (!err && page.text.failed)
		err = error_no_memory();
	if (!err)
		fwrite(page.text.data, 1, page.text.len, out);
	strbuf_deinit(&page.text);
	return err;
}

const struct renderer brief_renderer = {.name = "brief", .render = render_brief};
