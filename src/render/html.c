// SPDX-License-Identifier: Apache-2.0
#include "render/html.h"

#include <inttypes.h>

#include "render/formats.h"
#include "render/html_parts.h"
#include "util/cleanup.h"
#include "util/embedded.h"
#include "util/sha256.h"
#include "util/units.h"

/* Made by cmake from html.css. */
extern const struct embedded_file embedded_html[];

static void append_target(struct strbuf *out, const struct snapshot *snap)
{
	const struct snapshot_process *first = snapshot_process(snap, 0);

	if (snap->processes.len == 1) {
		strbuf_append(out, snap->heap_untraced && first->pid ? "kernel for "
				   : first->command                  ? ""
								     : "process");
		html_append_text(out, first->command);
		if (first->pid || !snap->heap_untraced)
			strbuf_appendf(out, " (%d)", first->pid);
	} else {
		strbuf_appendf(out, "%zu processes", snap->processes.len);
	}
}

static void append_policy(struct strbuf *out)
{
	strbuf_appendf(
		out,
		"<meta http-equiv=\"Content-Security-Policy\" content=\""
		"default-src 'none'; script-src 'sha256-%s'; style-src 'sha256-%s'; "
		"base-uri 'none'; form-action 'none'\">\n",
		sha256_base64(flame_script()).s, sha256_base64(embedded_html[0].text).s);
}

static void append_head(struct strbuf *out, const struct snapshot *snap)
{
	strbuf_append(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
			   "<meta charset=\"utf-8\">\n");
	append_policy(out);
	strbuf_append(out, "<meta name=\"viewport\" content=\"width=device-width, "
			   "initial-scale=1\">\n"
			   "<meta name=\"color-scheme\" content=\"light dark\">\n"
			   "<meta name=\"referrer\" content=\"no-referrer\">\n<title>");
	append_target(out, snap);
	strbuf_append(out, ", memory held: memtrace</title>\n<style>");
	strbuf_append(out, embedded_html[0].text);
	strbuf_append(out, "</style>\n</head>\n<body>\n");
}

static void append_when(struct strbuf *out, const struct report *report)
{
	strbuf_appendf(out, "%s, %s after the attach (%s)",
		       units_format_time(report->snapshot->wall_ns, UNITS_DATE).s,
		       units_format_duration(report->elapsed_ns).s,
		       report_cause_name(report->cause));
}

/* What was left out, and what is an estimate. */
static void append_conditions(struct strbuf *out, const struct report *report)
{
	const struct snapshot *snap = report->snapshot;

	if (snap->sample_bytes)
		strbuf_appendf(out,
			       "<p class=\"note\">Heap numbers are estimates from one "
			       "allocation in %s.</p>\n",
			       units_format_bytes(snap->sample_bytes).s);
	else if (snap->sample_every > 1)
		strbuf_appendf(out,
			       "<p class=\"note\">Heap numbers are estimates from one "
			       "allocation in %" PRIu64 ".</p>\n",
			       snap->sample_every);
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

static void append_header(struct strbuf *out, const struct report *report)
{
	const struct snapshot *snap = report->snapshot;
	const struct snapshot_process *first = snapshot_process(snap, 0);

	strbuf_append(out,
		      "<header>\n<p class=\"product\">memtrace: memory held</p>\n<h1>");
	append_target(out, snap);
	strbuf_append(out, "</h1>\n<p>");
	append_when(out, report);
	strbuf_append(out, "</p>\n");
	if (snap->processes.len == 1 && first->executable) {
		strbuf_append(out, "<p><code>");
		html_append_text(out, first->executable);
		strbuf_append(out, "</code></p>\n");
	}
	if (snap->library) {
		strbuf_append(out, "<p>Every process that maps <code>");
		html_append_text(out, snap->library);
		strbuf_append(out, "</code></p>\n");
	}
	append_conditions(out, report);
	strbuf_append(out, "</header>\n<main>\n");
}

static void append_footer(struct strbuf *out)
{
	strbuf_append(
		out,
		"</main>\n<footer>\n<p>Every number counts blocks allocated since the "
		"attach. Sizes are what the program asked for; the allocator's own "
		"overhead, and memory that it keeps after a free, are the difference "
		"to VmRSS.</p>\n<p>Made by memtrace " MEMTRACE_VERSION
		".</p>\n</footer>\n<script>");
	strbuf_append(out, flame_script());
	strbuf_append(out, "</script>\n</body>\n</html>\n");
}

static struct error *flush(struct strbuf *text, FILE *out)
{
	if (text->failed)
		return error_no_memory();
	fwrite(strbuf_text(text), 1, text->len, out);
	strbuf_deinit(text);
	return NULL;
}

static void append_before_flame(struct strbuf *out, const struct report *report,
				const struct flame_options *options)
{
	append_head(out, report->snapshot);
	append_header(out, report);
	html_append_losses(out, report);
	html_append_totals(out, report);
	html_append_suspects(out, report);
	html_append_course(out, report);
	html_append_stacks(out, report);
	strbuf_append(out,
		      "<section id=\"flame\">\n<h2>Flame graph</h2>\n<p class=\"note\">");
	flame_describe(out, report, options);
	strbuf_append(out,
		      ". As wide as its bytes. A click on a frame zooms, a pointer on it "
		      "shows its numbers.</p>\n");
}

struct error *html_render(const struct report *report,
			  const struct flame_options *options, FILE *out)
{
	struct flame_options part = *options;
	_cleanup_(strbuf_deinit) struct strbuf text = {0};
	struct error *err;

	part.is_part = true;
	append_before_flame(&text, report, options);
	err = flush(&text, out);
	if (!err)
		err = flame_render(report, &part, out);
	if (err)
		return err;
	strbuf_append(&text, "</section>\n");
	if (!report->snapshot->heap_untraced) {
		html_append_sizes(&text, report);
		html_append_ages(&text, report);
	}
	html_append_processes(&text, report);
	html_append_threads(&text, report);
	append_footer(&text);
	return flush(&text, out);
}

static struct error *render_html(const struct report *report, FILE *out)
{
	return html_render(report, &(const struct flame_options){0}, out);
}

const struct renderer html_renderer = {.name = "html", .render = render_html};
