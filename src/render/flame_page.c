// SPDX-License-Identifier: Apache-2.0
#include "render/flame_page.h"

#include <inttypes.h>
#include <string.h>

#include "render/class_words.h"
#include "render/xml.h"
#include "util/cleanup.h"
#include "util/embedded.h"
#include "util/escape.h"
#include "util/units.h"

/* Made by cmake from flame.js. */
extern const struct embedded_file embedded_flame[];

#define LEGEND_COLUMNS 5
#define LEGEND_MAX     40
#define LEGEND_CHARS   30

/* Colours are light, so that black text can be read on them, also when printed. */
#define LIGHT 245
#define DARK  150

struct flame_colour flame_colour(const char *module)
{
	struct flame_colour colour = {"#d4d4d4"};
	uint32_t hash = 2166136261u; /* FNV-1a */

	if (!*module)
		return colour;
	for (; *module; module++)
		hash = (hash ^ (unsigned char)*module) * 16777619u;

	/* The last bytes have reached the low bits only: mix (finalizer of MurmurHash3).
	 */
	hash = (hash ^ hash >> 16) * 0x85ebca6bu;
	hash = (hash ^ hash >> 13) * 0xc2b2ae35u;
	hash ^= hash >> 16;

	unsigned hue = hash % 360;
	unsigned part = (LIGHT - DARK) * (hue % 60) / 60;
	unsigned up = DARK + part, down = LIGHT - part;
	const unsigned rgb[6][3] = {{LIGHT, up, DARK}, {down, LIGHT, DARK},
				    {DARK, LIGHT, up}, {DARK, down, LIGHT},
				    {up, DARK, LIGHT}, {LIGHT, DARK, down}};
	const unsigned *c = rgb[hue / 60];

	snprintf(colour.s, sizeof(colour.s), "#%02x%02x%02x", c[0] & 0xff, c[1] & 0xff,
		 c[2] & 0xff);
	return colour;
}

struct flame_colour flame_difference_colour(uint64_t old_bytes, uint64_t new_bytes)
{
	bool grew = new_bytes > old_bytes;
	double more = (double)(grew ? new_bytes : old_bytes);
	double less = (double)(grew ? old_bytes : new_bytes);
	/* What has changed at all is to be seen. */
	double share = more > less ? 0.15 + 0.85 * (more - less) / more : 0;
	unsigned rest = LIGHT - (unsigned)((LIGHT - 80) * share);
	struct flame_colour colour;

	snprintf(colour.s, sizeof(colour.s), "#%02x%02x%02x",
		 (grew ? LIGHT : rest) & 0xff, rest & 0xff, (grew ? rest : LIGHT) & 0xff);
	return colour;
}

/* Text from the target, escaped for reading and then for XML. */
static void append_hostile(struct strbuf *out, const char *text)
{
	_cleanup_(freep) char *escaped = escape_dup(text);

	if (escaped)
		xml_append(out, escaped);
	else
		out->failed = true;
}

/* Are widths hits of an event, and not bytes? */
static bool is_counted(const struct flame_page *page)
{
	return page->report->snapshot->event && !page->report->snapshot->event_bytes;
}

static void append_title(struct strbuf *out, const struct flame_page *page)
{
	const struct snapshot *snap = page->report->snapshot;
	const struct report *old = page->options->old;

	strbuf_append(out, "memtrace: ");
	if (snap->event)
		append_hostile(out, snap->event);
	strbuf_append(out, snap->event ? " of "
			   : old       ? "difference of memory held by "
				       : "memory held by ");
	if (snap->processes.len == 1) {
		class_append_target(out, snap, append_hostile);
	} else {
		strbuf_appendf(out, "%zu processes", snap->processes.len);
	}
	strbuf_append(out, ", ");
	strbuf_append(out, units_format_time(snap->wall_ns, UNITS_DATE).s);
	if (old) {
		strbuf_append(out, ", to ");
		strbuf_append(out,
			      units_format_time(old->snapshot->wall_ns, UNITS_DATE).s);
	}
}

/* What a difference shows. */
static void append_change(struct strbuf *out, const struct report *report,
			  const struct report *before)
{
	for (size_t i = 0; i < report->section_count; i++) {
		const struct report_sum *old = &before->sections[i].listed;
		const struct report_sum *new = &report->sections[i].listed;

		strbuf_appendf(out, "%s: %s, now ",
			       class_words(report->sections[i].class)->name,
			       units_format_bytes(old->estimated_bytes).s);
		strbuf_appendf(out, "%s; ", units_format_bytes(new->estimated_bytes).s);
	}
	strbuf_append(out, "red: more than before, blue: less; the width of a stack is "
			   "the larger of both");
}

static void append_section(struct strbuf *out, const struct snapshot *snap,
			   const struct report_section *section)
{
	uint64_t count = section->listed.estimated_count;

	if (section->class == BLOCK_EVENT) {
		strbuf_appendf(out, "%" PRIu64 " %s in %" PRIu64 " %s", count,
			       count == 1 ? "event" : "events", section->stack_count,
			       section->stack_count == 1 ? "stack" : "stacks");
		return;
	}
	strbuf_appendf(out, "%s: %s in %" PRIu64 " %s", class_words(section->class)->name,
		       units_format_bytes(section->listed.estimated_bytes).s, count,
		       class_blocks(section->class, count));
	if (section->is_estimate && snap->sample_bytes)
		strbuf_appendf(out, " (estimated from one allocation in %s)",
			       units_format_bytes(snap->sample_bytes).s);
	else if (section->is_estimate)
		strbuf_appendf(out, " (estimated from one allocation in %" PRIu64 ")",
			       snap->sample_every);
	if (section->row_count < section->stack_count)
		strbuf_appendf(out, ", of which the first %zu of %" PRIu64 " stacks",
			       section->row_count, section->stack_count);
}

void flame_describe(struct strbuf *out, const struct report *report,
		    const struct flame_options *options)
{
	if (options->old)
		append_change(out, report, options->old);
	for (size_t i = 0; !options->old && i < report->section_count; i++) {
		strbuf_append(out, i ? "; " : "");
		append_section(out, report->snapshot, &report->sections[i]);
	}
	if (!report->options.combined_only && report->options.older_ns &&
	    !report->snapshot->event)
		strbuf_appendf(out, "; older than %s",
			       units_format_duration(report->options.older_ns).s);
	if (options->reverse)
		strbuf_append(out, report->snapshot->event
					   ? "; merged from the innermost function on"
					   : "; merged from the allocation function on");
}

static void append_losses(struct strbuf *out, const struct snapshot *snap)
{
	const char *before = "incomplete: ";

	for (size_t i = 0; i < LOSS_COUNT; i++) {
		if (!snap->losses[i])
			continue;
		strbuf_appendf(out, "%s%s %" PRIu64, before, loss_name((enum loss)i),
			       snap->losses[i]);
		before = ", ";
	}
	if (snap->inconsistent)
		strbuf_append(out, ", not of one moment");
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

typedef VEC(const char *) modules;

/* The modules of what was drawn, sorted, each once. */
static bool find_modules(const struct flame_page *page, modules *ret)
{
	size_t kept = 0;

	/* In a difference colours do not tell modules. */
	for (size_t i = 0; !page->options->old && i < page->names->list.len; i++) {
		const char *module = page->names->list.data[i].module;

		if (page->drawn[i] && *module && !vec_push(ret, module))
			return false;
	}
	if (ret->len)
		qsort(ret->data, ret->len, sizeof(*ret->data), compare_texts);
	for (size_t i = 0; i < ret->len; i++) {
		if (!kept || strcmp(ret->data[kept - 1], ret->data[i]))
			ret->data[kept++] = ret->data[i];
	}
	ret->len = kept;
	return true;
}

static size_t legend_rows(const modules *list)
{
	size_t shown = list->len < LEGEND_MAX ? list->len : LEGEND_MAX;

	return (shown + LEGEND_COLUMNS - 1) / LEGEND_COLUMNS;
}

static size_t frames_end(const struct flame_page *page)
{
	return FLAME_TOP + page->levels * FLAME_ROW;
}

/* The first `chars` characters of valid UTF-8, in bytes. */
static size_t prefix_len(const char *text, size_t chars)
{
	size_t len = 0;

	while (text[len] && chars--) {
		do
			len++;
		while ((text[len] & 0xc0) == 0x80);
	}
	return len;
}

static void append_legend(struct strbuf *out, const struct flame_page *page,
			  const modules *list)
{
	size_t top = frames_end(page) + 34;
	size_t column = (FLAME_WIDTH - 2 * FLAME_MARGIN) / LEGEND_COLUMNS;

	for (size_t i = 0; i < list->len && i < LEGEND_MAX; i++) {
		size_t x = FLAME_MARGIN + i % LEGEND_COLUMNS * column;
		size_t y = top + i / LEGEND_COLUMNS * FLAME_ROW;
		_cleanup_(freep) char *shown =
			strndup(list->data[i], prefix_len(list->data[i], LEGEND_CHARS));

		strbuf_appendf(out,
			       "<rect x=\"%zu\" y=\"%zu\" width=\"11\" height=\"11\" "
			       "fill=\"%s\"/><text x=\"%zu\" y=\"%zu\">",
			       x, y, flame_colour(list->data[i]).s, x + 16, y + 10);
		if (shown)
			xml_append(out, shown);
		else
			out->failed = true;
		strbuf_append(out, "</text>\n");
	}
}

static void append_omitted(struct strbuf *out, const struct flame_page *page)
{
	bool is_one = page->omitted == 1;

	strbuf_appendf(out,
		       "<text x=\"%d\" y=\"70\" text-anchor=\"end\">%zu %s of less "
		       "than %s %s not drawn</text>\n",
		       FLAME_WIDTH - FLAME_MARGIN, page->omitted,
		       is_one ? "frame" : "frames",
		       units_format_bytes(page->least_bytes).s, is_one ? "is" : "are");
}

/* Kept out of print: they do nothing there. */
static void append_controls(struct strbuf *out)
{
	strbuf_appendf(out,
		       "<g class=\"control\">"
		       "<text id=\"reset\" role=\"button\" tabindex=\"0\" x=\"%d\" "
		       "y=\"70\">Reset zoom</text>"
		       "<text id=\"search\" role=\"button\" tabindex=\"0\" x=\"%d\" "
		       "y=\"70\">Search</text>"
		       "<text id=\"matched\" role=\"status\" x=\"%d\" y=\"70\"/></g>\n",
		       FLAME_MARGIN, FLAME_MARGIN + 90, FLAME_MARGIN + 160);
}

/* The top element with what the script has to know. */
static void append_root(struct strbuf *out, const struct flame_page *page, size_t height)
{
	int top = page->options->is_part ? FLAME_PART_TOP : 0;

	height -= (size_t)top;
	strbuf_append(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" ");
	strbuf_append(
		out,
		page->options->is_part
			? "class=\"flame\" role=\"group\" aria-label=\"Flame graph\" "
			: "version=\"1.1\" ");
	strbuf_appendf(out,
		       "width=\"%d\" height=\"%zu\" viewBox=\"0 %d %d %zu\" "
		       "data-x=\"%d\" data-width=\"%d\" data-bytes=\"%" PRIu64 "\"%s>\n",
		       FLAME_WIDTH, height, top, FLAME_WIDTH, height, FLAME_MARGIN,
		       FLAME_WIDTH - 2 * FLAME_MARGIN, page->total_bytes,
		       is_counted(page) ? " data-unit=\"events\"" : "");
}

static void append_head(struct strbuf *out, const struct flame_page *page)
{
	strbuf_append(out, "<title>");
	append_title(out, page);
	strbuf_append(out,
		      "</title>\n<style>\n"
		      "text { font: 11px monospace; fill: #000 }\n"
		      "rect { stroke: #fff; stroke-width: 0.5 }\n"
		      ".f text { pointer-events: none }\n"
		      ".f:hover rect { stroke: #000 }\n"
		      ".f.above rect { fill-opacity: 0.5 }\n"
		      ".f.match rect { fill: #ee66ee }\n"
		      "#title { font-size: 15px }\n"
		      ".losses { fill: #b00000 }\n"
		      ".control text { cursor: pointer; text-decoration: underline }\n"
		      "#matched { cursor: default; text-decoration: none }\n"
		      "@media print {\n"
		      ".control, #details { display: none }\n"
		      "svg { width: 100%; height: auto }\n"
		      "rect { print-color-adjust: exact; "
		      "-webkit-print-color-adjust: exact }\n"
		      "}\n</style>\n"
		      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
	strbuf_appendf(out, "<text id=\"title\" x=\"%d\" y=\"20\">", FLAME_MARGIN);
	append_title(out, page);
	strbuf_appendf(out, "</text>\n<text x=\"%d\" y=\"38\">", FLAME_MARGIN);
	flame_describe(out, page->report, page->options);
	strbuf_append(out, "</text>\n");
	if (snapshot_has_losses(page->report->snapshot)) {
		strbuf_appendf(out, "<text class=\"losses\" x=\"%d\" y=\"53\">",
			       FLAME_MARGIN);
		append_losses(out, page->report->snapshot);
		strbuf_append(out, "</text>\n");
	}
}

void flame_page_begin(struct strbuf *out, const struct flame_page *page)
{
	modules list = {0};
	size_t height;

	if (!find_modules(page, &list))
		out->failed = true;
	height = frames_end(page) + 34 + legend_rows(&list) * FLAME_ROW + FLAME_MARGIN;
	vec_deinit(&list);
	if (!page->options->is_part)
		strbuf_append(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	append_root(out, page, height);
	if (!page->options->is_part)
		append_head(out, page);
	if (page->omitted)
		append_omitted(out, page);
	append_controls(out);
}

void flame_page_end(struct strbuf *out, const struct flame_page *page)
{
	modules list = {0};

	if (!find_modules(page, &list))
		out->failed = true;
	strbuf_appendf(out, "<text id=\"details\" x=\"%d\" y=\"%zu\"> </text>\n",
		       FLAME_MARGIN, frames_end(page) + 20);
	append_legend(out, page, &list);
	vec_deinit(&list);
	if (!page->options->is_part) {
		strbuf_append(out, "<script><![CDATA[\n");
		strbuf_append(out, flame_script());
		strbuf_append(out, "]]></script>\n");
	}
	strbuf_append(out, "</svg>\n");
}

const char *flame_script(void)
{
	return embedded_flame[0].text;
}
