// SPDX-License-Identifier: Apache-2.0
#include "render/text/rows.h"

#include <inttypes.h>
#include <string.h>

#include "render/text/brief_page.h"
#include "render/class_words.h"
#include "render/text_processes.h"
#include "render/text_words.h"
#include "render/text/wrap.h"
#include "frames/short_name.h"
#include "util/escape.h"
#include "util/path.h"

void text_append_cut(struct strbuf *text, const char *name,
		     const struct report_options *options)
{
	size_t columns = text_columns(options);
	struct strbuf escaped = {0};

	escape_text(&escaped, name);
	/* A frame begins a quarter into the line. */
	if (columns)
		text_append_within(text, strbuf_text(&escaped), columns - columns / 4,
				   options->utf8);
	else
		strbuf_append_bytes(text, strbuf_text(&escaped), escaped.len);
	text->failed |= escaped.failed;
	strbuf_deinit(&escaped);
}

/* Append "[libc.so.6]". Names of the kernel such as "[vdso]" have brackets already. */
static void append_module(struct strbuf *text, const char *module,
			  const struct report_options *options)
{
	const char *name = module ? path_base_name(module) : "unknown";
	size_t len = strlen(name);
	bool has_brackets = len > 2 && name[0] == '[' && name[len - 1] == ']';

	if (!has_brackets)
		strbuf_append_char(text, '[');
	text_append_cut(text, name, options);
	if (!has_brackets)
		strbuf_append_char(text, ']');
}

/* Append " at file:line" if it is known. */
static void append_place(struct strbuf *text, const struct report_frame *frame,
			 const struct report_options *options)
{
	if (!frame->file || !*frame->file)
		return;
	strbuf_append(text, " at ");
	if (text_has_short_paths(options))
		text_append_cut(text, path_base_name(frame->file), options);
	else
		escape_text(text, frame->file);
	if (frame->line)
		strbuf_appendf(text, ":%u", frame->line);
}

void text_append_name(struct strbuf *text, const char *symbol,
		      const struct report_options *options)
{
	struct strbuf name = {0};

	if (!text_has_short_names(options)) {
		escape_text(text, symbol);
		return;
	}
	/* Even a short name may be long. */
	short_name_append(&name, symbol);
	text_append_cut(text, strbuf_text(&name), options);
	text->failed |= name.failed;
	strbuf_deinit(&name);
}

static void make_frame(const void *arg, const struct report_frame *frame,
		       struct strbuf *text)
{
	const struct report_options *options = arg;
	bool color = options->color, has_name = frame->symbol || frame->inlined;
	bool has_addresses = text_has_addresses(options);

	if (frame->is_gap) {
		strbuf_append(text, "\t\t... frames left out (deep recursion) ...\n");
		return;
	}
	strbuf_append(text, "\t\t");
	/* A module and an offset in it need no address. */
	if (has_addresses || (!has_name && !frame->module)) {
		text_append_style(text, color, TEXT_DIM);
		strbuf_appendf(text, "0x%016" PRIx64, frame->address);
		text_append_style(text, color, TEXT_PLAIN);
		strbuf_append_char(text, '\t');
	}
	if (has_name) {
		text_append_style(text, color, TEXT_FUNCTION);
		text_append_name(text, frame->symbol ? frame->symbol : "unknown",
				 options);
		text_append_style(text, color, TEXT_PLAIN);
		if (frame->inlined)
			strbuf_append(text, " [inlined] ");
		else if (has_addresses)
			strbuf_appendf(text, "+0x%" PRIx64 " ", frame->offset);
		else
			strbuf_append_char(text, ' ');
		append_module(text, frame->module, options);
	} else if (frame->module) {
		strbuf_append_char(text, '[');
		text_append_cut(text, path_base_name(frame->module), options);
		strbuf_appendf(text, "+0x%" PRIx64 "]", frame->offset);
	} else {
		strbuf_append(text, "[unknown]");
	}
	append_place(text, frame, options);
	strbuf_append_char(text, '\n');
}

const char *text_stack_end(const struct report_row *row)
{
	static const char *const ends[STACK_END_COUNT] = {
		[STACK_END_DEPTH] = "truncated: stack depth limit, raise --stack-depth",
		[STACK_END_NO_FRAME] = "truncated: no frame pointer to follow",
		[STACK_END_UNREADABLE] = "truncated: stack memory could not be read",
		[STACK_END_CORRUPT] = "truncated: the stack is corrupt",
		[STACK_END_NO_RULE] = "truncated: unwind rules came too late",
	};

	if (row->stack == SNAPSHOT_NO_STACK)
		return "no stack: it was not stored (see stacks_full)";
	return !ends[row->end] && !row->depth ? "no frames" : ends[row->end];
}

void text_append_stack(struct text_page *page, const struct report_row *row)
{
	const char *end = text_stack_end(row);

	for (size_t i = 0; i < row->depth; i++) {
		if (report_row_shows(row, i))
			frame_texts_append(&page->frames, row->frames[i], make_frame,
					   &page->report->options, &page->text);
	}
	if (end)
		strbuf_appendf(&page->text, "\t\t[%s]\n", end);
}

static void append_blocks(struct text_page *page, const struct report_row *row)
{
	const struct report *report = page->report;
	struct strbuf *text = &page->text;

	if (!report->options.show_blocks)
		return;
	for (size_t i = 0; i < row->block_count; i++) {
		const struct snapshot_block *block = row->blocks[i];

		/* Without printf(), because there may be a million blocks. */
		strbuf_append(text, "\t\taddr = 0x");
		strbuf_append_hex(text, block->address);
		strbuf_append(text, " size = ");
		strbuf_append_decimal(text, block->size_bytes);
		if (!report->options.combined_only) {
			strbuf_append(text, " age = ");
			strbuf_append(text, text_format_ago(report, block->time_ns).s);
		}
		strbuf_append(text, " thread = ");
		strbuf_append_decimal(text, block->tid);
		strbuf_append_char(text, '\n');
	}
}

const char *text_blocks(const struct report_section *section, uint64_t count)
{
	const struct class_words *w = class_words(section->class);

	return text_plural(count, w->allocation, w->allocations);
}

void text_append_sum(struct text_page *page, const struct report_section *section,
		     uint64_t size_bytes, uint64_t count)
{
	text_set_style(page, TEXT_NUMBER);
	strbuf_appendf(&page->text, "%" PRIu64 " bytes", size_bytes);
	text_set_style(page, TEXT_PLAIN);
	/* Always the plural, so that it is easy to search for. */
	strbuf_appendf(&page->text, " in %" PRIu64 " %s", count, text_blocks(section, 0));
}

static void append_row(struct text_page *page, const struct report_section *section,
		       const struct report_row *row, const struct text_rows *rows)
{
	strbuf_append_char(&page->text, '\t');
	rows->append_line(page, section, row);
	/* With group_by_process a line above the rows names the process. */
	if (!page->report->options.group_by_process)
		text_append_where(&page->text, page->report, row);
	strbuf_append_char(&page->text, '\n');
	append_blocks(page, row);
	text_append_stack(page, row);
}

static void append_rest(struct text_page *page, const struct report_section *section,
			const struct text_rows *rows)
{
	uint64_t size = section->ranked.estimated_bytes;
	uint64_t count = section->ranked.estimated_count;
	uint64_t stacks = section->stack_count - section->row_count;

	if (!stacks)
		return;
	for (size_t i = 0; i < section->row_count; i++) {
		const struct report_sum *sum = &section->rows[i].sum;

		/* A saturated or rounded sum may be smaller than the sum of its parts. */
		size -= sum->estimated_bytes < size ? sum->estimated_bytes : size;
		count -= sum->estimated_count < count ? sum->estimated_count : count;
	}
	strbuf_appendf(&page->text, "\t... %" PRIu64 " more %s", stacks,
		       text_plural(stacks, "stack", "stacks"));
	if (rows->is_of_held)
		strbuf_appendf(&page->text, " with %s in %" PRIu64 " %s",
			       units_format_bytes(size).s, count,
			       text_blocks(section, count));
	strbuf_append(&page->text, " (--top 0 lists all)\n");
}

static void append_none(struct text_page *page, const struct report_section *section,
			const struct text_rows *rows)
{
	if (rows->is_of_held && section->live.count && !section->listed.count)
		strbuf_appendf(&page->text,
			       "\tnone older than %s (--older 0 lists all)\n",
			       units_format_duration(page->report->options.older_ns).s);
	else
		strbuf_append(&page->text, "\tnone\n");
}

static size_t count_listed(const struct report_section *section,
			   const struct text_rows *rows)
{
	size_t listed = 0;

	for (size_t i = 0; i < section->row_count; i++)
		listed += !rows->lists || rows->lists(&section->rows[i]);
	return listed;
}

void text_append_rows(struct text_page *page, const struct report_section *section,
		      const struct text_rows *rows)
{
	const struct report *report = page->report;
	size_t listed = count_listed(section, rows);

	if (!report_is_of_one(report))
		text_append_processes(&page->text, report, section);
	text_append_heading(page, "Top %zu stacks %s%s", listed,
			    block_class_is_sampled(section->class)
				    ? rows->heading
				    : rows->heading_mappings,
			    section->class == BLOCK_KERNEL && report->section_count > 1
				    ? class_words(section->class)->among
				    : "");
	for (size_t i = 0; i < section->row_count; i++) {
		const struct report_row *row = &section->rows[i];

		if (rows->lists && !rows->lists(row))
			continue;
		if (report->options.group_by_process && !report_is_of_one(report) &&
		    row->process && (!i || row->process != row[-1].process)) {
			strbuf_append(&page->text, "    process ");
			text_append_process(&page->text, row->process);
			strbuf_append(&page->text, ":\n");
		}
		append_row(page, section, row, rows);
		text_flush_some(page);
	}
	if (!listed)
		append_none(page, section, rows);
	/* Rows that are not listed, and those behind them, have nothing to show. */
	if (listed == section->row_count)
		append_rest(page, section, rows);
}
