// SPDX-License-Identifier: Apache-2.0
#include "render/class_words.h"
#include "render/views/csv_field.h"

#include <inttypes.h>
#include <string.h>

#include "render/formats.h"
#include "render/names.h"
#include "render/text_processes.h"
#include "render/texts.h"
#include "render/views/views.h"
#include "report/histogram.h"
#include "util/cleanup.h"

struct builder {
	const struct report *report;
	FILE *out;
	struct names names;
	struct texts lines; /* "address - name", by report_frame.index */
	struct strbuf field;
};

static void make_lines(struct builder *b)
{
	for (size_t i = 0; i < b->names.frame_count; i++) {
		const struct report_frame *frame = b->names.frames[i];

		if (frame) {
			strbuf_appendf(&b->lines.all, "%" PRIx64 " - ", frame->address);
			strbuf_append(&b->lines.all,
				      b->names.list.data[b->names.ids[i]].text);
		}
		texts_end(&b->lines);
	}
}

/* Example: "16..31=3 32..63=1". */
static void append_histogram(struct strbuf *text, const struct report_row *row)
{
	for (size_t i = 0; i < row->size_count; i++) {
		const struct report_bucket *size = &row->sizes[i];

		strbuf_appendf(text, "%s%" PRIu64 "..%" PRIu64 "=%" PRIu64, i ? " " : "",
			       histogram_min_bytes(size->bucket),
			       histogram_max_bytes(size->bucket), size->count);
	}
}

/* Append the stack, leaf first. */
static void append_stack(struct builder *b, const struct report_row *row)
{
	const char *separator = "";
	enum name_note note;

	for (size_t i = 0; i < row->depth; i++) {
		strbuf_append(&b->field, separator);
		strbuf_append(&b->field, texts_get(&b->lines, row->frames[i]->index));
		separator = "\n";
	}
	if (names_end(row, &note)) {
		strbuf_append(&b->field, separator);
		strbuf_append(&b->field,
			      b->names.list.data[names_note(&b->names, note)].text);
	}
}

/* If there is only one process, blocks without a stored stack belong to it too. */
static const struct snapshot_process *process_of(const struct snapshot *snap,
						 const struct report_row *row)
{
	return snap->processes.len == 1 ? snap->processes.data : row->process;
}

/* Write "pid,stack_id" of a row; each is empty if not known. */
static void write_id(struct builder *b, const struct report_row *row)
{
	const struct snapshot_process *process = process_of(b->report->snapshot, row);

	if (process)
		fprintf(b->out, "%d", process->pid);
	fputc(',', b->out);
	if (row->stack != SNAPSHOT_NO_STACK)
		fprintf(b->out, "%" PRIu32, row->stack);
}

/* With several processes: how many hold the blocks, and their commands. */
#define PROCESS_COLUMNS ",processes,commands"

static void write_end(struct builder *b, const struct report_row *row)
{
	if (!report_is_of_one(b->report)) {
		fprintf(b->out, ",%zu,", row->process_count);
		strbuf_clear(&b->field);
		text_append_commands(&b->field, row, text_append_escaped);
		csv_write_field(strbuf_text(&b->field), b->out);
	}
	fputs("\r\n", b->out);
}

static void write_head(const struct builder *b, const char *before, const char *columns,
		       const char *after)
{
	fprintf(b->out, "%s%s%s%s\r\n", before, columns, after,
		report_is_of_one(b->report) ? "" : PROCESS_COLUMNS);
}

static void write_row(struct builder *b, const struct report_section *section,
		      const struct report_row *row)
{
	write_id(b, row);
	fprintf(b->out, ",%" PRIu64 ",%" PRIu64 ",", row->sum.estimated_bytes,
		row->sum.estimated_count);
	strbuf_clear(&b->field);
	append_histogram(&b->field, row);
	csv_write_field(strbuf_text(&b->field), b->out);
	fputc(',', b->out);
	strbuf_clear(&b->field);
	append_stack(b, row);
	csv_write_field(strbuf_text(&b->field), b->out);
	fprintf(b->out, ",%s", class_words(section->class)->csv);
	write_end(b, row);
}

static void write_view_row(struct builder *b, const struct report_section *section,
			   const struct report_row *row, const struct view_ops *view)
{
	write_id(b, row);
	fprintf(b->out, ",%s,", class_words(section->class)->csv);
	view->csv_row(b->report, row, b->out);
	fputc(',', b->out);
	strbuf_clear(&b->field);
	append_stack(b, row);
	csv_write_field(strbuf_text(&b->field), b->out);
	write_end(b, row);
}

/* Write the table of a view that has its own. */
static struct error *write_view(struct builder *b, const struct view_ops *view)
{
	const struct report *report = b->report;

	if (view->csv_table) {
		fprintf(b->out, "%s\r\n", view->csv_columns);
		view->csv_table(report, b->out);
		return NULL;
	}
	make_lines(b);
	if (b->lines.all.failed)
		return error_no_memory();
	write_head(b, "pid,stack_id,class,", view->csv_columns, ",stacktrace");
	for (size_t s = 0; s < report->section_count; s++) {
		const struct report_section *section = &report->sections[s];

		if (view->needs & ~report_class_data(section->class))
			continue;
		for (size_t r = 0; r < section->row_count && !b->field.failed; r++)
			write_view_row(b, section, &section->rows[r], view);
	}
	return b->field.failed ? error_no_memory() : NULL;
}

static struct error *write_report(struct builder *b)
{
	const struct report *report = b->report;

	make_lines(b);
	if (b->lines.all.failed)
		return error_no_memory();
	write_head(b, "pid,stack_id,", "total,count,histogram", ",stacktrace,class");
	for (size_t s = 0; s < report->section_count; s++) {
		const struct report_section *section = &report->sections[s];

		for (size_t r = 0; r < section->row_count && !b->field.failed; r++) {
			/* The table shows what is held, so rows without blocks are
			 * omitted. */
			if (section->rows[r].sum.count)
				write_row(b, section, &section->rows[r]);
		}
	}
	return b->field.failed ? error_no_memory() : NULL;
}

static struct error *render_csv(const struct report *report, FILE *out)
{
	const struct view_ops *view = view_find(report->options.view);
	struct builder b = {.report = report, .out = out};
	struct error *err = names_init(&b.names, report);

	if (!err && view->csv_columns)
		err = write_view(&b, view);
	else if (!err)
		err = write_report(&b);
	names_deinit(&b.names);
	texts_deinit(&b.lines);
	strbuf_deinit(&b.field);
	return err;
}

const struct renderer csv_renderer = {.name = "csv", .render = render_csv};
