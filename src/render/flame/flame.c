// SPDX-License-Identifier: Apache-2.0
#include "render/flame/flame.h"

#include <inttypes.h>
#include <string.h>

#include "render/class_words.h"
#include "render/flame/page.h"
#include "render/formats.h"
#include "render/text_words.h"
#include "render/texts.h"
#include "render/xml.h"
#include "frames/short_name.h"
#include "util/cleanup.h"
#include "util/saturate.h"
#include "util/units.h"

#define FLUSH_BYTES ((size_t)64 * 1024)
/* The width between the margins, in hundredths and in tenths of a pixel. */
#define HUNDREDTHS ((uint64_t)(FLAME_WIDTH - 2 * FLAME_MARGIN) * 100)
#define TENTHS     ((uint64_t)(FLAME_WIDTH - 2 * FLAME_MARGIN) * 10)
/* 2^14 tenths of a pixel are more than the whole width. */
#define WIDTH_CLASSES 15
/* Browsers handle this many frames quickly. */
#define MAX_FRAMES 20000
/* The advance of a character of the label, and the padding of a label. */
#define CHAR_HUNDREDTHS  662
#define LABEL_HUNDREDTHS 600
/* Shorter labels are useless. */
#define LABEL_MIN_CHARS 3

__extension__ typedef unsigned __int128 wide;

/* A frame that further paths may go through. */
struct open_frame {
	uint64_t first_byte, first_block;
	uint64_t first_old, first_new; /* bytes; only in a difference */
};

struct flame {
	struct paths paths;
	struct flame_page page;
	struct flame_palette palette;
	VEC(struct open_frame) open;   /* by level; level 0 is all memory */
	uint64_t bytes, blocks;        /* sum over the finished paths */
	uint64_t old_bytes, new_bytes; /* the same; only in a difference */
	uint64_t total_bytes;
	bool *visible;       /* by id of name: a visible frame has it */
	struct texts labels; /* by id of name */
	size_t levels;
	enum {
		SCAN_COUNT, /* count the frames of each width */
		SCAN_SIZE,  /* determine `visible` and `levels` */
		SCAN_DRAW,
	} scan;
	/* widths[i]: number of frames that are 2^i to 2^(i+1) tenths of a pixel wide.
	 * Last element: narrower frames, which are never shown. */
	size_t widths[WIDTH_CLASSES + 1];
	uint64_t least_tenths; /* frames narrower than this are omitted */
	struct strbuf text;
	FILE *out;
};

static const struct class_words *words_of(const struct flame *f)
{
	return class_words_main(f->page.report->snapshot);
}

/* Are the widths bytes that are live? An event's hits and a difference are not. */
static bool has_live(const struct flame *f)
{
	return !f->page.options->old && words_of(f)->is_live &&
	       f->page.report->options.flame_of == REPORT_FLAME_LIVE;
}

/* The x position of a frame that begins at byte `at`, in hundredths of a pixel. Widths
 * are differences of positions, so that adjacent frames add up exactly. */
static uint64_t position(const struct flame *f, uint64_t at)
{
	return f->total_bytes ? (uint64_t)((wide)at * HUNDREDTHS / f->total_bytes) : 0;
}

static bool is_as_wide(const struct flame *f, uint64_t bytes, uint64_t tenths)
{
	return bytes && (wide)bytes * TENTHS >= (wide)f->total_bytes * tenths;
}

static void count_width(struct flame *f, uint64_t bytes)
{
	size_t class = WIDTH_CLASSES;

	while (class && !is_as_wide(f, bytes, UINT64_C(1) << (class - 1)))
		class --;
	f->widths[class ? class - 1 : WIDTH_CLASSES]++;
}

/* Choose the smallest width limit that leaves at most MAX_FRAMES frames. */
static void choose_width(struct flame *f)
{
	size_t class = WIDTH_CLASSES, count = 0;

	f->page.omitted = f->widths[WIDTH_CLASSES];
	while (class && count + f->widths[class - 1] <= MAX_FRAMES)
		count += f->widths[--class];
	f->least_tenths = UINT64_C(1) << class;
	while (class)
		f->page.omitted += f->widths[--class];
	f->page.least_bytes =
		(uint64_t)(((wide)f->total_bytes * f->least_tenths + TENTHS - 1) /
			   TENTHS);
}

static void append_hundredths(struct strbuf *text, uint64_t n)
{
	strbuf_appendf(text, "%" PRIu64 ".%02u", n / 100, (unsigned)(n % 100));
}

/* Append as much of the name as fits. The script does the same after a zoom. */
static void append_label(struct strbuf *text, const char *name, uint64_t width)
{
	size_t room = width > LABEL_HUNDREDTHS
			      ? (size_t)((width - LABEL_HUNDREDTHS) / CHAR_HUNDREDTHS)
			      : 0;
	size_t chars = 0, len = 0, cut = 0;

	if (room < LABEL_MIN_CHARS)
		return;
	for (; name[len] && chars <= room; chars++) {
		if (chars == room - 2)
			cut = len;
		do
			len++;
		while ((name[len] & 0xc0) == 0x80);
	}

	_cleanup_(freep) char *shown = strndup(name, chars > room ? cut : len);

	if (!shown) {
		text->failed = true;
		return;
	}
	xml_append(text, shown);
	strbuf_append(text, chars > room ? ".." : "");
}

/* The bytes that are 100 %. Those of a section, or of the whole report. */
static uint64_t whole_of(const struct flame *f, const struct report_section *section)
{
	if (!has_live(f))
		return f->total_bytes;
	return section ? section->live.estimated_bytes : f->page.live_bytes;
}

static void append_share(const struct flame *f, struct strbuf *text,
			 const struct report_section *section, uint64_t bytes)
{
	strbuf_appendf(text, ", %s", text_format_share(bytes, whole_of(f, section)).s);
	if (f->page.report->section_count > 1 && has_live(f))
		strbuf_appendf(text, " of %s",
			       section ? class_words(section->class)->name : "all");
}

/* Append the lines of a tooltip: the name as in the label, the full name if that is
 * another, its module if it has one, the numbers. */
static void append_tooltip(const struct flame *f, struct strbuf *text, const char *label,
			   const char *name, const char *module,
			   const struct report_section *section, uint64_t bytes,
			   uint64_t blocks)
{
	xml_append(text, label);
	if (strcmp(label, name)) {
		strbuf_append_char(text, '\n');
		xml_append(text, name);
	}
	if (*module) {
		strbuf_append_char(text, '\n');
		xml_append(text, module);
	}
	if (flame_is_counted(&f->page))
		strbuf_appendf(text, "\n%" PRIu64 " %s", bytes,
			       bytes == 1 ? "event" : "events");
	else if (f->page.report->options.flame_of == REPORT_FLAME_COUNT)
		strbuf_appendf(text, "\n%" PRIu64 " %s", blocks,
			       blocks == 1 ? "block" : "blocks");
	else
		strbuf_appendf(text, "\n%s, %" PRIu64 " bytes in %" PRIu64 " %s",
			       units_format_bytes(bytes).s, bytes, blocks,
			       blocks == 1 ? words_of(f)->of_sections
					   : words_of(f)->of_sections_many);
	append_share(f, text, section, bytes);
}

/* Append the numbers of a frame in a difference, after the numbers for its width. */
static void append_difference(struct strbuf *text, uint64_t old_bytes, uint64_t new_bytes)
{
	strbuf_appendf(text, "\n%+" PRId64 " bytes: %" PRIu64 ", now %" PRIu64,
		       report_difference(new_bytes, old_bytes), old_bytes, new_bytes);
}

static void append_frame(struct flame *f, size_t level, const struct name *name,
			 const struct report_section *section, uint64_t bytes,
			 uint64_t blocks)
{
	uint64_t old_bytes = f->old_bytes - f->open.data[level].first_old;
	uint64_t new_bytes = f->new_bytes - f->open.data[level].first_new;
	const char *full = name ? name->text : "all", *module = name ? name->module : "";
	const char *shown =
		name ? texts_get(&f->labels, (size_t)(name - f->paths.names.list.data))
		     : "all";
	uint64_t from = f->open.data[level].first_byte;
	uint64_t x = FLAME_MARGIN * 100 + position(f, from);
	uint64_t width = FLAME_MARGIN * 100 + position(f, saturate_add(from, bytes)) - x;
	size_t row = f->page.options->inverted ? level : f->levels - 1 - level;
	size_t y = FLAME_TOP + row * FLAME_ROW;
	struct strbuf *text = &f->text;

	strbuf_appendf(text,
		       "<g class=\"f\" data-l=\"%zu\" data-o=\"%" PRIu64
		       "\" data-b=\"%" PRIu64 "\" data-n=\"%" PRIu64 "\"><title>",
		       level, from, bytes, blocks);
	append_tooltip(f, text, shown, full, module, section, bytes, blocks);
	if (f->page.options->old)
		append_difference(text, old_bytes, new_bytes);
	strbuf_append(text, "</title><rect x=\"");
	append_hundredths(text, x);
	strbuf_appendf(text, "\" y=\"%zu\" width=\"", y);
	append_hundredths(text, width);
	strbuf_appendf(text, "\" height=\"%d\" fill=\"%s\"/><text x=\"", FLAME_ROW - 1,
		       f->page.options->old
			       ? flame_difference_colour(old_bytes, new_bytes).s
			       : flame_colour(&f->palette, module).s);
	append_hundredths(text, x + LABEL_HUNDREDTHS / 2);
	strbuf_appendf(text, "\" y=\"%zu\">", y + 11);
	append_label(text, shown, width);
	strbuf_append(text, "</text></g>\n");
}

static void flush(struct flame *f, size_t least)
{
	if (f->text.len < least || f->text.failed)
		return;
	fwrite(strbuf_text(&f->text), 1, f->text.len, f->out);
	strbuf_deinit(&f->text);
}

/* The section of a frame at `level` of a path; NULL if a frame there may be of several.
 */
static const struct report_section *section_of(const struct flame *f,
					       const struct path *path, size_t level)
{
	const struct report *report = f->page.report;
	/* Above the frame of all memory and the frame of the process. */
	size_t first = 1 + (report->snapshot->processes.len > 1);

	if (report->section_count == 1)
		return &report->sections[0];
	return level >= first ? &report->sections[path->section] : NULL;
}

/* Close the frames at `level` and above: no more paths go through them. `path` is the
 * last path; NULL: none. */
static void close_frames(struct flame *f, const struct path *path, size_t level)
{
	while (f->open.len > level) {
		size_t at = f->open.len - 1;
		uint64_t bytes = f->bytes - f->open.data[at].first_byte;
		uint64_t blocks = f->blocks - f->open.data[at].first_block;
		const struct name *name = at ? paths_name(&f->paths, path, at - 1) : NULL;

		if (f->scan == SCAN_COUNT) {
			count_width(f, bytes);
		} else if (is_as_wide(f, bytes, f->least_tenths)) {
			f->levels = at >= f->levels ? at + 1 : f->levels;
			if (name)
				f->visible[name - f->paths.names.list.data] = true;
			if (f->scan == SCAN_DRAW)
				append_frame(f, at, name, section_of(f, path, at), bytes,
					     blocks);
			flush(f, FLUSH_BYTES);
		}
		f->open.len--;
	}
}

/* Go through the sorted paths. Steps that a path has in common with the previous one stay
 * open. */
static bool scan(struct flame *f)
{
	const struct path *last = NULL;

	f->bytes = f->blocks = f->open.len = 0;
	f->old_bytes = f->new_bytes = 0;
	if (!vec_push(&f->open, (struct open_frame){0}))
		return false;
	vec_foreach (path, &f->paths.list) {
		close_frames(f, last,
			     1 + (last ? paths_common(&f->paths, last, path) : 0));
		while (f->open.len < path->depth + 1) {
			if (!vec_push(&f->open,
				      (struct open_frame){f->bytes, f->blocks,
							  f->old_bytes, f->new_bytes}))
				return false;
		}
		f->bytes = saturate_add(f->bytes, path->size_bytes);
		f->blocks = saturate_add(f->blocks, path->count);
		f->old_bytes = saturate_add(f->old_bytes, path->old_bytes);
		f->new_bytes = saturate_add(f->new_bytes, path->new_bytes);
		last = path;
	}
	close_frames(f, last, 0);
	return true;
}

static uint64_t find_live(const struct flame *f)
{
	const struct report *report = f->page.report;
	uint64_t sum = 0;

	for (size_t i = 0; i < report->section_count; i++)
		sum = saturate_add(sum, report->sections[i].live.estimated_bytes);
	return has_live(f) ? sum : f->total_bytes;
}

/* Labels are short names unless --names full asks for others. A part of an escaped text
 * is escaped, too. */
static bool make_labels(struct flame *f)
{
	const bool is_full = f->page.report->options.names == REPORT_FORM_FULL;

	vec_foreach (name, &f->paths.names.list) {
		if (name->is_symbol && !is_full)
			short_name_append(&f->labels.all, name->text);
		else
			strbuf_append(&f->labels.all, name->text);
		texts_end(&f->labels);
	}
	return !f->labels.all.failed;
}

static struct error *draw(struct flame *f)
{
	vec_foreach (path, &f->paths.list)
		f->total_bytes = saturate_add(f->total_bytes, path->size_bytes);
	f->visible = calloc(f->paths.names.list.len, sizeof(*f->visible));
	/* Find out first what the page must have room for. */
	if (!f->visible || !make_labels(f) || !scan(f))
		return error_no_memory();
	choose_width(f);
	f->scan = SCAN_SIZE;
	if (!scan(f))
		return error_no_memory();
	/* In a difference colours do not stand for modules. */
	if (!f->page.options->old &&
	    !flame_palette_init(&f->palette, &f->paths.names, f->visible))
		return error_no_memory();
	f->page.palette = &f->palette;
	f->page.total_bytes = f->total_bytes;
	f->page.live_bytes = find_live(f);
	f->page.levels = f->levels;
	f->scan = SCAN_DRAW;
	flame_page_begin(&f->text, &f->page);
	if (!scan(f))
		return error_no_memory();
	if (!f->total_bytes)
		strbuf_appendf(&f->text, "<text x=\"%d\" y=\"%d\">no %s</text>\n",
			       FLAME_MARGIN, FLAME_TOP + 11, words_of(f)->measure);
	flame_page_end(&f->text, &f->page);
	flush(f, 0);
	return f->text.failed ? error_no_memory() : NULL;
}

struct error *flame_render(const struct report *report,
			   const struct flame_options *options, FILE *out)
{
	struct flame f = {.out = out, .page = {.report = report, .options = options}};
	struct error *err = paths_init(
		&f.paths, report, options->reverse ? PATHS_LEAF_FIRST : PATHS_ROOT_FIRST);

	if (!err)
		err = draw(&f);
	paths_deinit(&f.paths);
	vec_deinit(&f.open);
	strbuf_deinit(&f.text);
	flame_palette_deinit(&f.palette);
	free(f.visible);
	texts_deinit(&f.labels);
	return err;
}

static struct error *render_flame(const struct report *report, FILE *out)
{
	return flame_render(report, &(const struct flame_options){0}, out);
}

const struct renderer flame_renderer = {
	.name = "flame",
	.render = render_flame,
	.render_graph = flame_render,
};
