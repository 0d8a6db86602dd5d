// SPDX-License-Identifier: Apache-2.0
#include "render/text_rows.h"

#include <inttypes.h>
#include <string.h>

#include "render/text_processes.h"
#include "render/text_words.h"
#include "util/escape.h"
#include "util/path.h"

#define FLUSH_BYTES ((size_t)64 * 1024)

/* "[libc.so.6]"; what the kernel names "[vdso]" has its brackets. */
static void append_module(struct strbuf *text, const char *module)
{
	const char *name = module ? path_base_name(module) : "unknown";
	size_t len = strlen(name);
	bool has_brackets = len > 2 && name[0] == '[' && name[len - 1] == ']';

	if (!has_brackets)
		strbuf_append_char(text, '[');
	escape_text(text, name);
	if (!has_brackets)
		strbuf_append_char(text, ']');
}

/* " at file:line", when that is known. */
static void append_place(struct strbuf *text, const struct report_frame *frame,
			 bool short_paths)
{
	if (!frame->file || !*frame->file)
		return;
	strbuf_append(text, " at ");
	escape_text(text, short_paths ? path_base_name(frame->file) : frame->file);
	if (frame->line)
		strbuf_appendf(text, ":%u", frame->line);
}

static void append_frame(struct strbuf *text, const struct report_frame *frame,
			 bool short_paths)
{
	strbuf_appendf(text, "\t\t0x%016" PRIx64 "\t", frame->address);
	if (frame->symbol || frame->inlined) {
		escape_text(text, frame->symbol ? frame->symbol : "unknown");
		if (frame->inlined)
			strbuf_append(text, " [inlined] ");
		else
			strbuf_appendf(text, "+0x%" PRIx64 " ", frame->offset);
		append_module(text, frame->module);
	} else if (frame->module) {
		strbuf_append_char(text, '[');
		escape_text(text, path_base_name(frame->module));
		strbuf_appendf(text, "+0x%" PRIx64 "]", frame->offset);
	} else {
		strbuf_append(text, "[unknown]");
	}
	append_place(text, frame, short_paths);
	strbuf_append_char(text, '\n');
}

/* Says why a stack has no more frames, where there should be more. */
static void append_end(struct strbuf *text, const struct report_row *row)
{
	static const char *const ends[STACK_END_COUNT] = {
		[STACK_END_DEPTH] = "truncated: stack depth limit, raise --stack-depth",
		[STACK_END_NO_FRAME] = "truncated: no frame pointer to follow",
		[STACK_END_UNREADABLE] = "truncated: stack memory could not be read",
		[STACK_END_CORRUPT] = "truncated: the stack leads nowhere",
		[STACK_END_UNLEARNED] = "truncated: unwind rules came too late",
	};

	if (row->stack == SNAPSHOT_NO_STACK)
		strbuf_append(text,
			      "\t\t[no stack: it was not stored, raise --max-stacks]\n");
	else if (ends[row->end])
		strbuf_appendf(text, "\t\t[%s]\n", ends[row->end]);
	else if (!row->depth)
		strbuf_append(text, "\t\t[no frames]\n");
}

static void append_blocks(struct strbuf *text, const struct report *report,
			  const struct report_row *row)
{
	uint64_t now_ns = report->snapshot->time_ns;

	if (!report->options.show_blocks)
		return;
	for (size_t i = 0; i < row->block_count; i++) {
		const struct snapshot_block *block = row->blocks[i];

		strbuf_appendf(text, "\t\taddr = 0x%" PRIx64 " size = %" PRIu64,
			       block->address, block->size_bytes);
		if (!report->options.combined_only) {
			uint64_t age_ns =
				now_ns > block->time_ns ? now_ns - block->time_ns : 0;

			strbuf_appendf(text, " age = %s",
				       units_format_duration(age_ns).s);
		}
		strbuf_appendf(text, " thread = %" PRIu32 "\n", block->tid);
	}
}

/* "\t1234 events from stack  (5.6 %, +78)" */
static void append_event_row(struct strbuf *text, const struct report *report,
			     const struct report_section *section,
			     const struct report_row *row)
{
	uint64_t count = row->sum.count, all = section->live.count;
	unsigned tenths =
		all ? (unsigned)(1000.0 * (double)count / (double)all + 0.5) : 0;

	strbuf_appendf(text, "\t%" PRIu64 " %s from stack  (%u.%u %%", count,
		       text_plural(count, "event", "events"), tenths / 10, tenths % 10);
	if (report->snapshot->event_bytes)
		strbuf_appendf(text, ", %s", units_format_bytes(row->sum.size_bytes).s);
	if (report->has_previous)
		strbuf_appendf(text, ", %+" PRId64, row->growth_count);
	strbuf_append(text, ")\n");
}

static void append_block_row(struct strbuf *text, const struct report *report,
			     const struct report_section *section,
			     const struct report_row *row)
{
	uint64_t size = row->sum.estimated_bytes, all = section->live.estimated_bytes;
	double share = all ? 100.0 * (double)size / (double)all : 0;
	/* In tenths, so that no locale has a say in the decimal point. */
	unsigned tenths = (unsigned)(share * 10 + 0.5);

	strbuf_appendf(text, "\t%" PRIu64 " bytes in %" PRIu64 " %s from stack", size,
		       row->sum.estimated_count,
		       section->class == BLOCK_HEAP ? "allocations" : "mappings");
	strbuf_appendf(text, "  (%u.%u %%, %s", tenths / 10, tenths % 10,
		       units_format_bytes(size).s);
	/* In a first report all of it has grown, which says nothing. */
	if (report->has_previous)
		strbuf_appendf(text, ", %s",
			       text_format_growth(row->estimated_growth_bytes).s);
	if (!report->options.combined_only)
		strbuf_appendf(text, ", oldest %s",
			       units_format_duration(row->oldest_age_ns).s);
	/* Which of several it is. */
	if (row->allocator && report->snapshot->allocators.len > 1) {
		strbuf_append(text, ", by ");
		escape_text(text, row->allocator->label);
	}
	strbuf_append(text, ")\n");
}

static void append_row(struct strbuf *text, const struct report *report,
		       const struct report_section *section, const struct report_row *row)
{
	if (section->class == BLOCK_EVENT)
		append_event_row(text, report, section, row);
	else
		append_block_row(text, report, section, row);
	append_blocks(text, report, row);
	for (size_t i = 0; i < row->depth; i++)
		append_frame(text, row->frames[i], report->options.short_paths);
	append_end(text, row);
}

static void append_rest(struct strbuf *text, const struct report_section *section)
{
	uint64_t size = section->listed.estimated_bytes;
	uint64_t count = section->listed.estimated_count;
	uint64_t stacks = section->stack_count - section->row_count;

	if (!stacks)
		return;
	for (size_t i = 0; i < section->row_count; i++) {
		const struct report_sum *sum = &section->rows[i].sum;

		/* A saturated or rounded sum may be smaller than its parts. */
		size -= sum->estimated_bytes < size ? sum->estimated_bytes : size;
		count -= sum->estimated_count < count ? sum->estimated_count : count;
	}
	if (section->class == BLOCK_EVENT) {
		strbuf_appendf(text,
			       "\t... %" PRIu64 " more %s with %" PRIu64
			       " %s (--top 0 lists all)\n",
			       stacks, text_plural(stacks, "stack", "stacks"), count,
			       text_plural(count, "event", "events"));
		return;
	}
	strbuf_appendf(text,
		       "\t... %" PRIu64 " more %s with %s in %" PRIu64
		       " %s (--top 0 lists all)\n",
		       stacks, text_plural(stacks, "stack", "stacks"),
		       units_format_bytes(size).s, count,
		       section->class == BLOCK_HEAP
			       ? text_plural(count, "allocation", "allocations")
			       : text_plural(count, "mapping", "mappings"));
}

void text_append_rows(struct strbuf *text, const struct report *report,
		      const struct report_section *section, const char *clock, FILE *out)
{
	static const char *const whats[BLOCK_CLASS_COUNT] = {
		[BLOCK_HEAP] = "with outstanding allocations",
		[BLOCK_MAPPING] = "with outstanding mappings",
		[BLOCK_EVENT] = "by events",
	};

	strbuf_appendf(text, "\n[%s] Top %zu stacks %s:\n", clock, section->row_count,
		       whats[section->class]);
	for (size_t i = 0; i < section->row_count; i++) {
		const struct report_row *row = &section->rows[i];

		if (!text_is_of_one(report) && row->process &&
		    (!i || row->process != row[-1].process)) {
			strbuf_append(text, "    process ");
			text_append_process(text, row->process);
			strbuf_append(text, ":\n");
		}
		append_row(text, report, section, row);
		if (text->len >= FLUSH_BYTES && !text->failed) {
			fwrite(text->data, 1, text->len, out);
			strbuf_deinit(text);
		}
	}
	if (!section->row_count && section->live.count)
		strbuf_appendf(text, "\tnone older than %s\n",
			       units_format_duration(report->options.older_ns).s);
	else if (!section->row_count)
		strbuf_append(text, "\tnone\n");
	append_rest(text, section);
}
