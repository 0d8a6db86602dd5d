// SPDX-License-Identifier: Apache-2.0
#include "render/text/brief_causes.h"

#include <inttypes.h>

#include "render/text/brief_frames.h"
#include "render/brief_rate.h"
#include "render/class_words.h"
#include "render/text_processes.h"
#include "render/text_words.h"
#include "util/escape.h"
#include "util/saturate.h"

#define INDENT        6 /* of the lines below a cause */
#define INDENT_NARROW 2
#define NARROW        40 /* columns: a number then has a line of its own */
#define CALLERS_MOST  5
#define PARTS_MOST    3
#define PARTS_APART   16 /* number of parts that are counted apart, to find the largest */
#define PARTS_LOOKED  1000

/* How much is shown of a cause. */
enum detail {
	DETAIL_LITTLE, /* one line of callers */
	DETAIL_MUCH,   /* parts, and a line for each caller */
	DETAILS,
};

/* A cause as text, in each detail. */
struct entry {
	struct strbuf text[DETAILS];
	size_t lines[DETAILS];
	enum detail shown;
};

struct list {
	const struct brief_page *page;
	const struct report_section *section;
	const struct causes *causes;
	struct brief_rate rate; /* unit of all slopes */
	size_t number_width;    /* columns of the widest number of the suspects, and... */
	size_t size_width;      /* ...of the other causes */
	VEC(struct entry) entries;
	size_t shown; /* the first so many causes */
};

/* --- one cause ---------------------------------------------------------------------- */

static size_t indent_of(const struct brief_page *page)
{
	return page->columns < NARROW ? INDENT_NARROW : INDENT;
}

void brief_append_blocks(struct strbuf *text, const struct report *report,
			 const struct report_section *section, const struct cause *cause,
			 bool with_trend)
{
	const struct cause_part *first = cause->parts;
	uint64_t count = cause->sum.estimated_count;

	strbuf_appendf(text, "in %" PRIu64 " %s", count,
		       class_blocks(section->class, count));
	if (cause->part_count == 1)
		text_append_where(text, report, first->row);
	if (first->slope_bytes_per_s > 0 && with_trend)
		strbuf_appendf(text, ", grew in %" PRIu32 " of %" PRIu32 " intervals",
			       first->row->trend->grew, first->row->trend->intervals);
	else if (report->has_growth && cause->estimated_growth_bytes)
		strbuf_appendf(text, ", %s",
			       text_format_growth(cause->estimated_growth_bytes).s);
	if (!report->options.combined_only)
		strbuf_appendf(text, ", oldest %s",
			       units_format_duration(cause->oldest_age_ns).s);
	if (cause->lost_bytes)
		strbuf_appendf(text, ", %s lost for good",
			       units_format_bytes(cause->lost_bytes).s);
}

/* "  9.2 MiB/min  make_order (shop.cc:88)". */
static void put_title(struct brief_page *page, const struct list *list,
		      const struct cause *cause)
{
	bool is_suspect = cause->slope_bytes_per_s > 0;
	size_t width = is_suspect ? list->number_width : list->size_width;
	struct units_text number =
		is_suspect ? brief_rate_format(&list->rate, cause->slope_bytes_per_s)
			   : units_format_bytes(cause->sum.estimated_bytes);

	if (page->columns < NARROW) {
		brief_indent(page, 2);
		brief_put(page, is_suspect ? TEXT_WARNING : TEXT_NUMBER, number.s);
		brief_end_line(page);
	} else {
		brief_indent(page, 2 + width - strlen(number.s));
		brief_put(page, is_suspect ? TEXT_WARNING : TEXT_NUMBER, number.s);
		brief_put(page, TEXT_PLAIN, " ");
	}
	brief_indent(page, 2);
	brief_put_cause(page, TEXT_NUMBER, indent_of(page) + 2, cause);
	brief_end_line(page);
}

/* "8.1 MiB in 1200 blocks, grew in 6 of 6 intervals, oldest 25 s". */
static void append_sums(struct strbuf *text, const struct list *list,
			const struct cause *cause, enum detail detail)
{
	if (cause->slope_bytes_per_s > 0)
		strbuf_appendf(text, "%s ",
			       units_format_bytes(cause->sum.estimated_bytes).s);
	brief_append_blocks(text, list->page->report, list->section, cause,
			    detail == DETAIL_MUCH);
}

/* The frame that the naming frame has called, or NULL if it is the innermost one. */
static const struct report_frame *callee_of(const struct cause_part *part)
{
	return part->named_by && part->named_by < part->row->depth
		       ? part->row->frames[part->named_by - 1]
		       : NULL;
}

/* Parts that have one callee, or without a callee one line. */
struct part_sum {
	const struct cause_part *part;
	uint64_t size_bytes;
	unsigned line; /* of the call; 0: unknown, or there are several */
};

/* The line of the call in the frame that names the cause. */
static unsigned line_of(const struct cause_part *part)
{
	return part->named_by < part->row->depth ? part->row->frames[part->named_by]->line
						 : 0;
}

static bool is_same_part(const struct cause_part *a, const struct cause_part *b)
{
	const struct report_frame *x = callee_of(a), *y = callee_of(b);

	if (!x || !y)
		return !x && !y && line_of(a) == line_of(b);
	return x->symbol && y->symbol ? !strcmp(x->symbol, y->symbol)
				      : x->address == y->address;
}

static int compare_sums(const void *pa, const void *pb)
{
	const struct part_sum *a = pa, *b = pb;

	if (a->size_bytes != b->size_bytes)
		return a->size_bytes > b->size_bytes ? -1 : 1;
	return a->part < b->part ? -1 : a->part > b->part;
}

/* Collect the largest parts. Returns how many; *rest: the bytes of all others. */
static size_t find_parts(const struct cause *cause, struct part_sum ret[PARTS_APART],
			 uint64_t *rest)
{
	size_t count = 0;

	*rest = cause->sum.estimated_bytes;
	for (size_t i = 0; i < cause->part_count && i < PARTS_LOOKED; i++) {
		const struct cause_part *part = &cause->parts[i];
		size_t k = 0;

		while (k < count && !is_same_part(ret[k].part, part))
			k++;
		if (k == PARTS_APART)
			continue;
		if (k == count)
			ret[count++] = (struct part_sum){part, 0, line_of(part)};
		if (ret[k].line != line_of(part))
			ret[k].line = 0;
		ret[k].size_bytes =
			saturate_add(ret[k].size_bytes, part->row->sum.estimated_bytes);
	}
	qsort(ret, count, sizeof(*ret), compare_sums);
	if (count > PARTS_MOST)
		count = PARTS_MOST;
	for (size_t i = 0; i < count; i++)
		*rest = saturate_subtract(*rest, ret[i].size_bytes);
	return count;
}

/* "6.1 MiB via std::vector::push_back, line 88"; of an only part "via ..." alone. */
static void put_part(struct brief_page *page, const struct part_sum *sum, bool is_only)
{
	const struct report_frame *callee = callee_of(sum->part);
	bool is_full = page->report->options.names == REPORT_FORM_FULL;
	struct strbuf text = {0};

	brief_indent(page, indent_of(page));
	if (!is_only)
		strbuf_append(&text, units_format_bytes(sum->size_bytes).s);
	if (callee) {
		strbuf_append(&text, is_only ? "via " : " via ");
		if (is_full && callee->symbol)
			escape_text(&text, callee->symbol);
		else
			brief_append_name(&text, callee);
	}
	if (sum->line && !is_only)
		strbuf_appendf(&text, ", line %u", sum->line);
	if (is_full)
		brief_put_words(page, TEXT_PLAIN, indent_of(page) + 2,
				strbuf_text(&text));
	else
		brief_put(page, TEXT_PLAIN, strbuf_text(&text));
	brief_end_line(page);
	page->text.failed |= text.failed;
	strbuf_deinit(&text);
}

static void put_parts(struct brief_page *page, const struct causes *causes,
		      const struct cause *cause)
{
	struct part_sum parts[PARTS_APART];
	uint64_t rest;
	size_t count = find_parts(cause, parts, &rest);
	const struct report_frame *callee = callee_of(cause->parts);

	if (count == 1) {
		/* That memory comes from an allocation function needs no line. */
		if (callee && causes_origin(causes, callee)->kind != CODE_ALLOCATOR)
			put_part(page, &parts[0], true);
		return;
	}
	for (size_t i = 0; i < count; i++)
		put_part(page, &parts[i], false);
	if (rest) {
		brief_indent(page, indent_of(page));
		brief_putf(page, TEXT_DIM, "... %s in other parts",
			   units_format_bytes(rest).s);
		brief_end_line(page);
	}
}

static void put_cause(struct brief_page *page, const struct list *list,
		      const struct cause *cause, enum detail detail)
{
	bool whole = page->report->options.whole_stacks;
	bool utf8 = page->report->options.utf8;
	size_t indent = indent_of(page), width, room;
	struct strbuf text = {0}, callers = {0};

	put_title(page, list, cause);
	append_sums(&text, list, cause, detail);
	width = text_width(strbuf_text(&text), text.len, utf8) + strlen("; from ");
	room = page->columns > indent + width ? page->columns - indent - width : 0;
	if (detail == DETAIL_LITTLE)
		brief_append_callers(&callers, list->causes, cause, room, utf8);
	if (callers.len)
		strbuf_appendf(&text, "; from %s", strbuf_text(&callers));
	brief_indent(page, indent);
	brief_put_words(page, TEXT_PLAIN, indent, strbuf_text(&text));
	brief_end_line(page);
	if (detail == DETAIL_MUCH && !whole)
		put_parts(page, list->causes, cause);
	if (detail == DETAIL_MUCH)
		brief_put_callers(page, list->causes, cause, indent,
				  whole ? SIZE_MAX : CALLERS_MOST, whole);
	page->text.failed |= text.failed || callers.failed;
	strbuf_deinit(&text);
	strbuf_deinit(&callers);
}

/* --- the list ----------------------------------------------------------------------- */

static bool add_entry(struct list *list, const struct cause *cause)
{
	struct entry entry = {.shown = DETAIL_LITTLE};

	for (int i = 0; i < DETAILS; i++) {
		struct brief_page page;

		brief_page_init(&page, list->page->report);
		put_cause(&page, list, cause, (enum detail)i);
		entry.text[i] = page.text;
		entry.lines[i] = page.lines;
	}
	return vec_push(&list->entries, entry);
}

static void measure_numbers(struct list *list, size_t count)
{
	const struct cause *causes = list->causes->list;

	brief_rate_init(&list->rate, count ? causes->slope_bytes_per_s : 0);
	for (size_t i = 0; i < count; i++) {
		double slope = causes[i].slope_bytes_per_s;
		size_t *width = slope > 0 ? &list->number_width : &list->size_width;
		size_t len = strlen(
			slope > 0 ? brief_rate_format(&list->rate, slope).s
				  : units_format_bytes(causes[i].sum.estimated_bytes).s);

		*width = len > *width ? len : *width;
	}
}

/* The lines of headings and of the line with the rest, if `shown` causes are shown. The
 * first heading does not count. */
static size_t other_lines(const struct list *list, size_t shown)
{
	size_t suspects = list->causes->suspect_count;
	bool has_rest = shown < list->causes->count ||
			list->section->stack_count > list->section->row_count;

	return (suspects && shown > suspects ? 2 : 0) + has_rest;
}

/* Decide how many causes are shown, and how much of each. */
static void fit(struct list *list, size_t most)
{
	struct entry *entries = list->entries.data;
	size_t used = 0;

	for (size_t i = 0; i < list->entries.len; i++) {
		size_t lines = entries[i].lines[DETAIL_LITTLE];

		if (i && used + lines + other_lines(list, i + 1) > most)
			break;
		used += lines;
		list->shown = i + 1;
		/* The first cause is the reason to read the report. */
		lines = entries[i].lines[DETAIL_MUCH] - lines;
		if (!i && used + lines + other_lines(list, 1) <= most) {
			entries[i].shown = DETAIL_MUCH;
			used += lines;
		}
	}
	for (size_t i = 1; i < list->shown; i++) {
		size_t more =
			entries[i].lines[DETAIL_MUCH] - entries[i].lines[DETAIL_LITTLE];

		if (used + more + other_lines(list, list->shown) > most)
			break;
		entries[i].shown = DETAIL_MUCH;
		used += more;
	}
}

void brief_append_heading(struct strbuf *text, const struct report_section *section,
			  const struct causes *causes, bool of_suspects)
{
	size_t suspects = causes->suspect_count;
	const char *among = class_words(section->class)->among;

	if (of_suspects)
		strbuf_appendf(text, "%zu leak %s%s%s", suspects,
			       text_plural(suspects, "suspect", "suspects"), among,
			       suspects > 1 ? ", fastest first" : "");
	else
		strbuf_appendf(text, "%s%s, largest first",
			       suspects ? "Other live memory" : "Live", among);
}

static void put_heading(struct brief_page *page, const struct list *list, size_t index)
{
	size_t suspects = list->causes->suspect_count;
	struct strbuf heading = {0};

	if (index != 0 && index != suspects)
		return;
	brief_append_heading(&heading, list->section, list->causes, index < suspects);
	strbuf_append_char(&heading, ':');
	if (page->lines)
		brief_end_line(page);
	brief_put_words(page, TEXT_HEADING, 2, strbuf_text(&heading));
	brief_end_line(page);
	page->text.failed |= heading.failed;
	strbuf_deinit(&heading);
}

/* "... 14 more causes: 1.2 MiB". */
static void put_rest(struct brief_page *page, const struct list *list)
{
	const struct report_section *section = list->section;
	size_t causes = list->causes->count - list->shown;
	uint64_t stacks = saturate_subtract(section->stack_count, section->row_count);
	uint64_t size = section->ranked.estimated_bytes;
	struct strbuf text = {0};

	if (!causes && !stacks)
		return;
	/* A saturated or rounded sum may be smaller than the sum of its parts. */
	for (size_t i = 0; i < list->shown; i++)
		size = saturate_subtract(size, list->causes->list[i].sum.estimated_bytes);
	strbuf_append(&text, "...");
	if (causes)
		strbuf_appendf(&text, " %zu more %s", causes,
			       text_plural(causes, "cause", "causes"));
	if (stacks)
		strbuf_appendf(&text, "%s %" PRIu64 " more %s", causes ? " and" : "",
			       stacks, text_plural(stacks, "stack", "stacks"));
	strbuf_appendf(&text, ": %s", units_format_bytes(size).s);
	brief_indent(page, 2);
	brief_put_words(page, TEXT_PLAIN, 2, strbuf_text(&text));
	brief_end_line(page);
	page->text.failed |= text.failed;
	strbuf_deinit(&text);
}

void brief_append_none(struct strbuf *text, const struct report *report,
		       const struct report_section *section)
{
	const char *names = report->near_filter;

	if (!section->live.count)
		return;
	if (!section->listed.count) {
		strbuf_appendf(text, "None is older than %s (--older 0 lists all).",
			       units_format_duration(report->options.older_ns).s);
		return;
	}
	strbuf_append(text, "No stack matches the filters.");
	if (names) {
		strbuf_append(text, " The nearest names: ");
		escape_text(text, names);
	}
}

void brief_put_causes(struct brief_page *page, const struct report_section *section,
		      const struct causes *causes, size_t most)
{
	struct list list = {.page = page, .section = section, .causes = causes};
	uint64_t limit = page->report->options.entries;
	size_t count = limit && limit < causes->count ? (size_t)limit : causes->count;

	/* Each takes at least one line. */
	if (count > most)
		count = most ? most : 1;
	measure_numbers(&list, count);
	for (size_t i = 0; i < count; i++)
		page->text.failed |= !add_entry(&list, &causes->list[i]);
	fit(&list, most);
	for (size_t i = 0; i < list.shown; i++) {
		const struct entry *entry = &list.entries.data[i];

		put_heading(page, &list, i);
		strbuf_append(&page->text, strbuf_text(&entry->text[entry->shown]));
		page->lines += entry->lines[entry->shown];
	}
	put_rest(page, &list);
	vec_foreach (entry, &list.entries) {
		for (int i = 0; i < DETAILS; i++) {
			page->text.failed |= entry->text[i].failed;
			strbuf_deinit(&entry->text[i]);
		}
	}
	vec_deinit(&list.entries);
}
