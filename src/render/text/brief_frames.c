// SPDX-License-Identifier: Apache-2.0
#include "render/text/brief_frames.h"

#include <inttypes.h>

#include "render/text/rows.h"
#include "render/text_words.h"
#include "frames/short_name.h"
#include "util/escape.h"
#include "util/path.h"

/* A place takes at most this part of a line. */
#define PLACE_SHARE 2

/* One line of the callers: a frame, or frames of libraries that are folded. */
struct caller {
	size_t first, end; /* frames of the row, the latter exclusive */
	size_t folded; /* how many of these are shown; 0: a frame that is not folded */
};

typedef VEC(struct caller) callers;

void brief_append_name(struct strbuf *text, const struct report_frame *frame)
{
	if (frame->is_gap) {
		strbuf_append(text, "... frames left out: deep recursion");
	} else if (frame->symbol && *frame->symbol) {
		struct strbuf name = {0};

		short_name_append(&name, frame->symbol);
		escape_text(text, strbuf_text(&name));
		text->failed |= name.failed;
		strbuf_deinit(&name);
	} else if (frame->module) {
		escape_text(text, path_base_name(frame->module));
		strbuf_appendf(text, "+0x%" PRIx64, frame->offset);
	} else {
		strbuf_appendf(text, "0x%" PRIx64, frame->address);
	}
}

void brief_append_place(struct strbuf *text, const struct report_frame *frame,
			const char *executable)
{
	bool has_name = frame->symbol && *frame->symbol;

	if (frame->file && *frame->file) {
		escape_text(text, path_base_name(frame->file));
		if (frame->line)
			strbuf_appendf(text, ":%u", frame->line);
	} else if (has_name && frame->module &&
		   (!executable || strcmp(frame->module, executable) != 0)) {
		escape_text(text, path_base_name(frame->module));
	} else if (!has_name && frame->module && !frame->is_gap) {
		strbuf_append(text, "no symbol");
	}
}

/* The name without as many of its leading namespaces as do not fit. */
static const char *without_namespaces(const struct strbuf *name, size_t columns,
				      bool utf8)
{
	const char *text = strbuf_text(name), *at = text;
	size_t bytes = 4 * columns; /* no more fit */

	/* Colons in "{{closure}}" or behind "operator" do not end a namespace. */
	while (strnlen(text, bytes + 1) > bytes ||
	       text_width(text, strlen(text), utf8) > columns) {
		at = text + strcspn(text, ":{<");
		if (at[0] != ':' || at[1] != ':' || !at[2] || at == text)
			break;
		text = at + 2;
	}
	return text;
}

void brief_append_frame(struct strbuf *text, const struct report_frame *frame,
			const char *executable, size_t columns, bool utf8)
{
	struct strbuf name = {0}, place = {0};
	size_t place_width;

	brief_append_name(&name, frame);
	brief_append_place(&place, frame, executable);
	/* A space and parentheses go with it. */
	place_width = place.len ? text_width(place.data, place.len, utf8) + 3 : 0;
	if (place_width > columns / PLACE_SHARE)
		place_width = 0;
	text_append_within(text, without_namespaces(&name, columns - place_width, utf8),
			   columns - place_width, utf8);
	if (place_width)
		strbuf_appendf(text, " (%s)", place.data);
	text->failed |= name.failed || place.failed;
	strbuf_deinit(&name);
	strbuf_deinit(&place);
}

/* Put a frame as brief_append_frame() has it, or with its full name or its address if the
 * options ask for these. */
static void put_frame(struct brief_page *page, enum text_style style, size_t indent,
		      const struct report_frame *frame, const char *executable)
{
	const struct report_options *options = &page->report->options;
	bool is_full = options->names == REPORT_FORM_FULL && frame->symbol;
	bool has_address = options->addresses && !frame->is_gap;
	struct strbuf text = {0}, place = {0};

	if (!is_full && !has_address) {
		brief_append_frame(&text, frame, executable, brief_room(page),
				   options->utf8);
		brief_put(page, style, strbuf_text(&text));
	} else {
		if (has_address)
			strbuf_appendf(&text, "0x%" PRIx64 " ", frame->address);
		if (is_full)
			escape_text(&text, frame->symbol);
		else
			brief_append_name(&text, frame);
		brief_append_place(&place, frame, executable);
		if (place.len)
			strbuf_appendf(&text, " (%s)", place.data);
		brief_put_words(page, style, indent, strbuf_text(&text));
	}
	page->text.failed |= text.failed || place.failed;
	strbuf_deinit(&text);
	strbuf_deinit(&place);
}

static const char *executable_of(const struct report_row *row)
{
	return row->frames_of ? row->frames_of->executable : NULL;
}

void brief_append_cause(struct strbuf *text, const struct cause *cause, size_t columns,
			bool utf8)
{
	const struct cause_part *part = cause->parts;
	const struct report_row *row = part->row;
	const char *end = text_stack_end(row);

	if (part->named_by < row->depth)
		brief_append_frame(text, row->frames[part->named_by], executable_of(row),
				   columns, utf8);
	else
		text_append_within(text, end ? end : "no frames", columns, utf8);
}

void brief_put_cause(struct brief_page *page, enum text_style style, size_t indent,
		     const struct cause *cause)
{
	const struct cause_part *part = cause->parts;
	const struct report_row *row = part->row;
	const char *end = text_stack_end(row);

	if (part->named_by < row->depth)
		put_frame(page, style, indent, row->frames[part->named_by],
			  executable_of(row));
	else
		brief_put(page, style, end ? end : "no frames");
}

/* --- which frames ------------------------------------------------------------------- */

static const struct code_origin *origin_of(const struct causes *causes,
					   const struct report_row *row, size_t frame)
{
	return causes_origin(causes, row->frames[frame]);
}

/* Is the frame shown on a line of its own? */
static bool is_own(const struct causes *causes, const struct report_row *row,
		   size_t frame)
{
	return origin_of(causes, row, frame)->kind == CODE_OWN ||
	       row->frames[frame]->is_gap;
}

/* The depth of the row without the frames that start programs and threads. */
static size_t find_depth(const struct causes *causes, const struct report_row *row)
{
	size_t depth = row->depth;

	/* A stack that ends early does not reach them. */
	while (depth && row->end == STACK_END_COMPLETE &&
	       origin_of(causes, row, depth - 1)->kind == CODE_RUNTIME)
		depth--;
	return depth;
}

/* If neither a cause nor the callers before `depth` have names, the first caller that has
 * one says more than an address, though it belongs to an interpreter or starts the
 * program. Returns its number; 0: none. */
static size_t find_named(const struct cause_part *part, size_t depth)
{
	const struct report_row *row = part->row;
	size_t named = part->named_by;

	while (named < row->depth && !row->frames[named]->symbol)
		named++;
	return named > part->named_by && named >= depth && named < row->depth ? named : 0;
}

static bool find_callers(const struct causes *causes, const struct cause_part *part,
			 bool whole, callers *ret)
{
	const struct report_row *row = part->row;
	size_t depth = whole ? row->depth : find_depth(causes, row);
	size_t named = whole ? 0 : find_named(part, depth);
	bool ok = true;

	if (named)
		depth = named + 1;
	for (size_t i = whole ? 0 : part->named_by + 1; ok && i < depth; i++) {
		struct caller *last = ret->len ? &ret->data[ret->len - 1] : NULL;
		bool folds = !whole && !is_own(causes, row, i) && (!named || i != named);

		if (!report_row_shows(row, i))
			continue;
		if (folds && last && last->folded) {
			last->folded++;
			last->end = i + 1;
		} else {
			ok = vec_push(ret, (struct caller){i, i + 1, folds});
		}
	}
	return ok;
}

/* --- lines -------------------------------------------------------------------------- */

/* Append "libstdc++ and libc": where the frames are from. */
static void append_libraries(struct strbuf *text, const struct causes *causes,
			     const struct report_row *row, const struct caller *caller)
{
	const struct code_origin *first = NULL, *second = NULL;

	for (size_t i = caller->first; i < caller->end; i++) {
		const struct code_origin *origin = origin_of(causes, row, i);

		if (!origin->library || !report_row_shows(row, i))
			continue;
		if (!first)
			first = origin;
		else if (!second &&
			 (origin->library_len != first->library_len ||
			  memcmp(origin->library, first->library, first->library_len)))
			second = origin;
	}
	if (first) {
		strbuf_append(text, " of ");
		escape_bytes(text, first->library, first->library_len);
	}
	if (second) {
		strbuf_append(text, " and ");
		escape_bytes(text, second->library, second->library_len);
	}
}

static void put_caller(struct brief_page *page, const struct causes *causes,
		       const struct cause_part *part, const struct caller *caller,
		       size_t indent)
{
	const struct report_row *row = part->row;
	const struct report_frame *frame = row->frames[caller->first];
	enum code_kind kind = origin_of(causes, row, caller->first)->kind;
	/* A function of another library may say what it does. */
	bool has_name = kind == CODE_LIBRARY && caller->folded == 1;
	enum text_style style = caller->first == part->named_by ? TEXT_NUMBER
				: kind == CODE_OWN              ? TEXT_FUNCTION
								: TEXT_DIM;
	struct strbuf text = {0};

	if (caller->folded && !has_name) {
		strbuf_appendf(&text, "... %zu %s", caller->folded,
			       text_plural(caller->folded, "frame", "frames"));
		append_libraries(&text, causes, row, caller);
		brief_put(page, style, strbuf_text(&text));
	} else {
		/* Behind "from " and two columns more. */
		put_frame(page, style, indent + 7, frame, executable_of(row));
	}
	page->text.failed |= text.failed;
	strbuf_deinit(&text);
}

/* Put the begin of a line: "from " before the first one. */
static void put_begin(struct brief_page *page, size_t indent, bool is_first)
{
	brief_indent(page, indent);
	brief_put(page, TEXT_PLAIN, is_first ? "from " : "     ");
}

void brief_put_callers(struct brief_page *page, const struct causes *causes,
		       const struct cause *cause, size_t indent, size_t most, bool whole)
{
	const struct cause_part *part = cause->parts;
	const char *end = text_stack_end(part->row);
	bool has_end = end && part->named_by < part->row->depth;
	callers list = {0};
	size_t shown, lines;

	page->text.failed |= !find_callers(causes, part, whole, &list);
	lines = list.len + has_end;
	/* A line that says how many there are more takes one, too. */
	shown = lines <= most ? list.len : most > 1 ? most - 1 : 0;
	for (size_t i = 0; i < shown && i < list.len; i++) {
		put_begin(page, indent, !i);
		put_caller(page, causes, part, &list.data[i], indent);
		brief_end_line(page);
	}
	if (lines > most) {
		put_begin(page, indent, !shown);
		brief_putf(page, TEXT_DIM, "... %zu more %s", list.len - shown,
			   text_plural(list.len - shown, "caller", "callers"));
		brief_end_line(page);
	} else if (has_end) {
		put_begin(page, indent, !list.len);
		brief_putf(page, TEXT_DIM, "[%s]", end);
		brief_end_line(page);
	}
	vec_deinit(&list);
}

void brief_append_callers(struct strbuf *text, const struct causes *causes,
			  const struct cause *cause, size_t columns, bool utf8)
{
	const struct cause_part *part = cause->parts;
	size_t depth = find_depth(causes, part->row), used = 0;
	struct strbuf name = {0};

	for (size_t i = part->named_by + 1; i < depth; i++) {
		size_t width;

		if (!is_own(causes, part->row, i) || !report_row_shows(part->row, i))
			continue;
		strbuf_clear(&name);
		strbuf_append(&name, used ? ", " : "");
		brief_append_name(&name, part->row->frames[i]);
		width = text_width(strbuf_text(&name), name.len, utf8);
		/* There must be room for ", ..." behind it. */
		if (used + width + 5 > columns) {
			strbuf_append(text, used ? ", ..." : "");
			break;
		}
		strbuf_append(text, strbuf_text(&name));
		used += width;
	}
	text->failed |= name.failed;
	strbuf_deinit(&name);
}
