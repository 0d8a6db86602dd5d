// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "render/class_words.h"
#include "render/views/csv_field.h"
#include "render/text/groups.h"
#include "render/text_words.h"
#include "render/text/wrap.h"
#include "render/views/all.h"
#include "report/functions.h"
#include "util/cleanup.h"
#include "util/escape.h"
#include "util/saturate.h"

/* A terminal of so many columns shows the numbers of blocks, too, and their growth. */
#define BLOCKS_COLUMNS 100
#define GROWTH_COLUMNS 120

/* What the rows of the table are: one, several. */
static const char *const words[][2] = {
	[REPORT_GROUP_PATH] = {"function", "functions"},
	[REPORT_GROUP_PROCESS] = {"function", "functions"},
	[REPORT_GROUP_FUNCTION] = {"function", "functions"},
	[REPORT_GROUP_CALLER] = {"caller", "callers"},
	[REPORT_GROUP_MODULE] = {"module", "modules"},
	[REPORT_GROUP_LIBRARY] = {"library", "libraries"},
	[REPORT_GROUP_SOURCE] = {"source file", "source files"},
	[REPORT_GROUP_LINE] = {"line", "lines"},
	[REPORT_GROUP_ALLOCATOR] = {"allocator", "allocators"},
	[REPORT_GROUP_THREAD] = {"thread", "threads"},
};

static const char *sort_words(const struct report *report)
{
	/* Then flat and cumulative sizes are the same. */
	bool is_single = report_group_is_single(report->options.group_by);

	switch (report->sort) {
	case REPORT_SORT_CUMULATIVE:
		return is_single ? "size" : "cumulative size";
	case REPORT_SORT_COUNT:
		return is_single ? "count" : "flat count";
	case REPORT_SORT_GROWTH:
		return is_single ? "growth" : "flat growth";
	default:
		return is_single ? "size" : "flat size";
	}
}

/* In the first report everything has grown, which says nothing. On a narrow terminal the
 * names would not fit beside the growth. */
static bool has_growth(const struct report *report)
{
	size_t columns = text_columns(&report->options);

	return report->has_growth && functions_have_growth(report->options.group_by) &&
	       (!columns || columns >= GROWTH_COLUMNS ||
		report->sort == REPORT_SORT_GROWTH ||
		report_group_is_single(report->options.group_by));
}

static bool has_blocks(const struct report *report)
{
	size_t columns = text_columns(&report->options);

	return !columns || columns >= BLOCKS_COLUMNS ||
	       report->sort == REPORT_SORT_COUNT ||
	       report_group_is_single(report->options.group_by);
}

static void append_sum(struct text_page *page, const struct report_section *section,
		       const struct function_sum *sum)
{
	struct strbuf *text = &page->text;

	strbuf_appendf(
		text, "  %10s %7s", units_format_bytes(sum->size_bytes).s,
		text_format_share(sum->size_bytes, section->live.estimated_bytes).s);
	if (has_blocks(page->report))
		strbuf_appendf(text, " %8" PRIu64, sum->count);
	if (has_growth(page->report))
		strbuf_appendf(text, " %11s", text_format_growth(sum->growth_bytes).s);
}

static void append_function(struct text_page *page, const struct report_section *section,
			    const struct functions *functions,
			    const struct function *function)
{
	const struct report *report = page->report;
	const struct groups *groups = &functions->groups;
	const struct group *group = &groups->list.data[function->group];

	append_sum(page, section, &function->flat);
	if (!report_group_is_single(report->options.group_by))
		append_sum(page, section, &function->cumulative);
	strbuf_append(&page->text, "  ");
	text_set_style(page, TEXT_FUNCTION);
	text_append_group(&page->text, report, groups, group);
	text_set_style(page, TEXT_PLAIN);
	text_append_group_place(&page->text, report, groups, group);
	strbuf_append_char(&page->text, '\n');
	text_flush_some(page);
}

static void append_head(struct text_page *page)
{
	const struct report *report = page->report;
	const char *growth = has_growth(report) ? "      growth" : "";
	const char *blocks = has_blocks(report) ? "   blocks" : "";
	struct strbuf *text = &page->text;
	bool is_single = report_group_is_single(report->options.group_by);

	strbuf_appendf(text, "  %10s   share%s%s", is_single ? "size" : "flat", blocks,
		       growth);
	if (!is_single)
		strbuf_appendf(text, "  %10s   share%s%s", "cumulative", blocks, growth);
	strbuf_appendf(text, "  %s\n", words[report->options.group_by][0]);
}

static void append_rest(struct text_page *page, const struct functions *functions,
			size_t shown)
{
	const char *const *word = words[page->report->options.group_by];
	bool is_single = report_group_is_single(page->report->options.group_by);
	uint64_t size = 0;

	if (shown == functions->count)
		return;
	for (size_t i = shown; i < functions->count; i++)
		size = saturate_add(size, functions->list[i].flat.size_bytes);
	strbuf_appendf(&page->text, "  ... %zu more %s with %s%s (--top 0 lists all)\n",
		       functions->count - shown, word[functions->count - shown != 1],
		       units_format_bytes(size).s, is_single ? "" : " flat");
}

static void append_functions(struct text_page *page, const struct report_section *section,
			     const struct functions *functions)
{
	const struct report *report = page->report;
	uint64_t limit = report->options.entries;
	size_t shown = functions->count;

	if (limit && limit < shown)
		shown = (size_t)limit;
	text_append_heading(page, "Top %zu %s by %s%s", shown,
			    words[report->options.group_by][shown != 1],
			    sort_words(report), class_words(section->class)->among);
	if (!functions->count) {
		strbuf_append(&page->text, "  none\n");
		return;
	}
	append_head(page);
	for (size_t i = 0; i < shown; i++)
		append_function(page, section, functions, &functions->list[i]);
	append_rest(page, functions, shown);
}

static void append_text(struct text_page *page, const struct report_section *section)
{
	struct functions functions;
	struct error *err = functions_find(page->report, section,
					   page->report->options.group_by, &functions);

	if (err)
		page->text.failed = true;
	else
		append_functions(page, section, &functions);
	error_destroy(err);
	functions_deinit(&functions);
}

static void write_text(const char *text, FILE *out)
{
	_cleanup_(freep) char *escaped = escape_dup(text ? text : "");

	csv_write_field(escaped ? escaped : "", out);
	fputc(',', out);
}

static void write_sum(const struct function_sum *sum, bool has_growth, FILE *out)
{
	fprintf(out, ",%" PRIu64 ",%" PRIu64 ",", sum->size_bytes, sum->count);
	if (has_growth)
		fprintf(out, "%" PRId64, sum->growth_bytes);
}

static void write_function(const struct report *report, enum block_class class,
			   const struct groups *groups, const struct function *function,
			   FILE *out)
{
	const struct group *group = &groups->list.data[function->group];
	bool has_growth = functions_have_growth(groups->by);
	struct strbuf name = {0};

	text_append_group(&name, report, groups, group);
	fprintf(out, "%s,", class_words(class)->csv);
	write_text(group->kind == GROUP_CODE ? group_name(groups, group)
					     : strbuf_text(&name),
		   out);
	write_text(group_module(groups, group), out);
	write_text(group_file(groups, group), out);
	if (group->line)
		fprintf(out, "%u", group->line);
	write_sum(&function->flat, has_growth, out);
	write_sum(&function->cumulative, has_growth, out);
	fputs("\r\n", out);
	strbuf_deinit(&name);
}

static void csv_table(const struct report *report, FILE *out)
{
	for (size_t s = 0; s < report->section_count; s++) {
		struct functions functions;
		struct error *err = functions_find(report, &report->sections[s],
						   report->options.group_by, &functions);

		for (size_t i = 0; !err && i < functions.count; i++)
			write_function(report, report->sections[s].class,
				       &functions.groups, &functions.list[i], out);
		functions_deinit(&functions);
		error_destroy(err);
	}
}

const struct view_ops view_functions = {
	.name = "functions",
	.sort = REPORT_SORT_CUMULATIVE,
	.sorts = 1u << REPORT_SORT_CUMULATIVE | 1u << REPORT_SORT_SIZE |
		 1u << REPORT_SORT_COUNT | 1u << REPORT_SORT_GROWTH,
	.sorts_words = "cumulative, size (flat bytes), count (flat blocks) and growth",
	.all_rows = true,
	.append_text = append_text,
	.csv_columns = "class,function,module,file,line,flat_bytes,flat_blocks,"
		       "flat_growth_bytes,cumulative_bytes,cumulative_blocks,"
		       "cumulative_growth_bytes",
	.csv_table = csv_table,
};
