// SPDX-License-Identifier: Apache-2.0
#include "render/formats.h"

#include <inttypes.h>
#include <string.h>

#include "render/csv.h"
#include "render/names.h"
#include "report/histogram.h"
#include "util/cleanup.h"
#include "util/strbuf.h"

void csv_write_field(const char *text, FILE *out)
{
	fputc('"', out);
	if (*text && strchr("=+-@\t\r", *text))
		fputc('\'', out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

/* Empty, but a failure stays. */
static void clear(struct strbuf *text)
{
	text->len = 0;
	if (text->data)
		text->data[0] = '\0';
}

/* "16..31=3 32..63=1" */
static void append_histogram(struct strbuf *text, const struct report_section *section,
			     const struct report_row *row)
{
	struct histogram h = histogram_of_row(row);
	const char *space = "";

	for (size_t i = 0; i < HISTOGRAM_CLASSES; i++) {
		if (!h.blocks[i])
			continue;
		strbuf_appendf(text, "%s%" PRIu64 "..%" PRIu64 "=%" PRIu64, space,
			       histogram_min_bytes(i), histogram_max_bytes(i),
			       report_scale(section, h.blocks[i]));
		space = " ";
	}
}

/* Lines "address - name", leaf first. */
static void append_stack(struct strbuf *text, const struct names *names,
			 const struct report_row *row)
{
	const struct name *list = names->list.data;
	enum name_note note;

	for (size_t i = 0; i < row->depth; i++) {
		const struct report_frame *frame = row->frames[i];

		strbuf_appendf(text, "%s%" PRIx64 " - %s", i ? "\n" : "", frame->address,
			       list[names_frame(names, frame)].text);
	}
	if (names_end(row, &note))
		strbuf_appendf(text, "%s%s", row->depth ? "\n" : "",
			       list[names_note(names, note)].text);
}

static void write_row(struct strbuf *field, const struct report *report,
		      const struct report_section *section, const struct report_row *row,
		      const struct names *names, FILE *out)
{
	fprintf(out, "%d,", report->snapshot->pid);
	if (row->stack != SNAPSHOT_NO_STACK)
		fprintf(out, "%" PRIu32, row->stack);
	fprintf(out, ",%" PRIu64 ",%" PRIu64 ",", report_scale(section, row->size_bytes),
		report_scale(section, row->count));
	clear(field);
	append_histogram(field, section, row);
	csv_write_field(strbuf_text(field), out);
	fputc(',', out);
	clear(field);
	append_stack(field, names, row);
	csv_write_field(strbuf_text(field), out);
	fprintf(out, ",%s\r\n", section->class == BLOCK_HEAP ? "heap" : "mapping");
}

static struct error *render_csv(const struct report *report, FILE *out)
{
	_cleanup_(names_deinit) struct names names;
	_cleanup_(strbuf_deinit) struct strbuf field = {0};
	struct error *err = names_init(&names, report);

	if (err)
		return err;
	fputs("pid,stack_id,total,count,histogram,stacktrace,class\r\n", out);
	for (size_t s = 0; s < report->section_count && !field.failed; s++) {
		const struct report_section *section = &report->sections[s];

		for (size_t r = 0; r < section->row_count; r++)
			write_row(&field, report, section, &section->rows[r], &names,
				  out);
	}
	return field.failed ? error_no_memory() : NULL;
}

const struct renderer csv_renderer = {.name = "csv", .render = render_csv};
