// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "render/class_words.h"
#include "render/views/csv_field.h"
#include "render/diff_formats.h"
#include "render/names.h"
#include "util/cleanup.h"
#include "util/escape.h"
#include "util/strbuf.h"

static void append_stack(struct strbuf *field, const struct names *names,
			 const struct report_row *row)
{
	const char *separator = "";
	enum name_note note;

	for (size_t i = 0; i < row->depth; i++) {
		const struct name *name =
			&names->list.data[names_frame(names, row->frames[i])];

		strbuf_append(field, separator);
		strbuf_append(field, name->text);
		if (name->is_symbol && *name->module)
			strbuf_appendf(field, " [%s]", name->module);
		separator = "\n";
	}
	if (names_end(row, &note)) {
		strbuf_append(field, separator);
		strbuf_append(field, names->list.data[names_note(names, note)].text);
	}
}

/* The columns of bytes per minute: of both sides, or empty. */
static void write_rates(const struct report_diff *diff, const struct report_diff_row *row,
			FILE *out)
{
	if (report_diff_rates(diff) != DIFF_RATE_EACH) {
		fputs(",,", out);
		return;
	}
	fprintf(out, ",%" PRIu64 ",%" PRIu64,
		report_round(report_diff_old_rate(diff, row->old_bytes)),
		report_round(report_diff_new_rate(diff, row->new_bytes)));
}

/* A side that was not searched has an empty field. */
static void write_lost(const struct report *report, uint64_t bytes, FILE *out)
{
	fputs(",", out);
	if (report_diff_knows_lost(report))
		fprintf(out, "%" PRIu64, bytes);
}

static struct error *write_rows(const struct report_diff *diff,
				const struct report_diff_section *section,
				const struct names *names, FILE *out)
{
	for (size_t i = 0; i < section->row_count; i++) {
		const struct report_diff_row *row = &section->rows[i];
		_cleanup_(strbuf_deinit) struct strbuf field = {0};

		append_stack(&field, names, &row->row);
		if (field.failed)
			return error_no_memory();
		fprintf(out, "%" PRId64 ",%" PRId64, row->bytes, row->count);
		fprintf(out, ",%" PRIu64 ",%" PRIu64, row->old_bytes, row->old_count);
		fprintf(out, ",%" PRIu64 ",%" PRIu64 ",", row->new_bytes, row->new_count);
		csv_write_field(strbuf_text(&field), out);
		fprintf(out, ",%s,", class_words(section->class)->csv);
		field.len = 0;
		escape_text(&field, row->command ? row->command : "");
		if (field.failed)
			return error_no_memory();
		csv_write_field(field.len ? strbuf_text(&field) : "", out);
		write_rates(diff, row, out);
		write_lost(diff->old, row->old_lost_bytes, out);
		write_lost(diff->new, row->new_lost_bytes, out);
		fputs("\r\n", out);
	}
	return NULL;
}

static struct error *render(const struct report_diff *diff, FILE *out)
{
	struct names names;
	struct error *err = names_init(&names, &diff->graph);

	if (!err)
		fputs("difference,difference_count,old,old_count,new,new_count,"
		      "stacktrace,"
		      "class,command,old_per_minute,new_per_minute,old_lost,new_lost\r\n",
		      out);
	for (size_t i = 0; !err && i < diff->section_count; i++)
		err = write_rows(diff, &diff->sections[i], &names, out);
	names_deinit(&names);
	return err;
}

const struct diff_renderer diff_csv = {.name = "csv", .render = render};
