// SPDX-License-Identifier: Apache-2.0
#include "render/formats.h"

#include "render/class_words.h"
#include "render/text/timeline.h"
#include "render/text/events.h"
#include "render/text/head.h"
#include "render/text/sums.h"
#include "render/text/page.h"
#include "render/text/wrap.h"
#include "render/views/views.h"
#include "util/units.h"

static void append_title(struct text_page *page)
{
	const struct snapshot *snap = page->report->snapshot;

	text_set_style(page, TEXT_TITLE);
	text_append_subject(&page->text, page->report);
	strbuf_appendf(&page->text, ", %s",
		       units_format_time(snap->wall_ns, UNITS_DATE).s);
	text_set_style(page, TEXT_PLAIN);
	strbuf_append_char(&page->text, '\n');
}

/* Describe the first data in `data` that was not measured. */
static const char *name_missing(unsigned data)
{
	if (data & REPORT_DATA_TRAFFIC)
		return "allocations and frees of each call path were not counted "
		       "(--traffic)";
	if (data & REPORT_DATA_UNREACHABLE)
		return "nothing was searched for unreachable blocks (--unreachable)";
	if (data & REPORT_DATA_AT_PEAK)
		return "what was live at the peak was not counted (--peak)";
	return data & REPORT_DATA_LIFETIMES ? "lifetimes were not measured (--traffic)"
					    : "trends were not measured";
}

static void append_sort(struct text_page *page)
{
	const struct report *report = page->report;
	enum report_sort wanted = report->options.sort;

	if (report->sort != wanted)
		text_append_line(page, "sorted", "by %s, not by %s: %s",
				 report_sort_name(report->sort), report_sort_name(wanted),
				 name_missing(report_sort_needs(wanted) & ~report->data));
	else if (wanted != view_find(report->options.view)->sort)
		text_append_line(page, "sorted", "by %s", report_sort_name(wanted));
}

static void append_view(struct text_page *page, const struct report_section *section)
{
	const struct view_ops *view = view_find(page->report->options.view);
	unsigned missing = view->needs & ~page->report->data;

	if (view->needs & ~report_class_data(section->class))
		return;
	if (missing)
		strbuf_appendf(&page->text, "\nNothing to show for --view %s: %s.\n",
			       view->name, name_missing(missing));
	else
		view->append_text(page, section);
}

static struct error *render_text(const struct report *report, FILE *out)
{
	struct text_page page = {.report = report, .out = out};
	struct error *err = NULL;

	if (!frame_texts_init(&page.frames, report->frame_count))
		return error_no_memory();
	page.clock = units_format_time(report->snapshot->wall_ns, "%H:%M:%S");
	append_title(&page);
	text_append_cause(&page);
	text_append_tracing(&page);
	text_append_timeline(&page);
	append_sort(&page);
	for (size_t i = 0; i < report->section_count; i++) {
		const struct report_section *section = &report->sections[i];

		if (i)
			strbuf_append_char(&page.text, '\n');
		if (!class_words(section->class)->is_live) {
			text_append_events(&page, section);
			continue;
		}
		text_append_live(&page, section);
		text_append_kernel(&page, section);
		text_append_peak(&page, section);
		text_append_left_out(&page, section);
		text_append_traffic(&page, section);
		text_append_unreachable(&page, section);
		append_view(&page, section);
	}
	text_append_losses(&page);
	/* Reports follow each other in one stream, so separate them. */
	strbuf_append_char(&page.text, '\n');
	if (!text_write(&report->options, &page.text, out))
		err = error_no_memory();
	strbuf_deinit(&page.text);
	frame_texts_deinit(&page.frames);
	return err;
}

const struct renderer text_renderer = {.name = "text", .render = render_text};
