// SPDX-License-Identifier: Apache-2.0
#include "snapshot/file.h"

#include <endian.h>
#include <string.h>

#include "snapshot/file_check.h"
#include "snapshot/file_chunks.h"
#include "util/cleanup.h"

/* The most bytes in memory for each byte of a row in the file. Fields that a file lacks
 * take memory too. */
#define ROW_RATIO 4

#define LABEL_MAX 256

struct column {
	const struct file_field *field; /* NULL: unknown, to be skipped */
	uint8_t width;                  /* of an element in the file, bytes */
	uint16_t count;                 /* elements in a row */
};

struct reader {
	struct chunk_reader chunks;
	struct file_content *content;
	bool has_strings;
	bool is_quick; /* rows without columns are as in memory */
	uint64_t left; /* in the section, bytes */
	VEC(struct column) columns;
	uint64_t tables; /* bit mask of the tables read so far */
};

_Static_assert(LABEL_MAX > UINT8_MAX, "labels fit");

/* Read the next `size` bytes of the section. */
static struct error *take_bytes(struct reader *r, void *data, uint64_t size)
{
	if (size > r->left)
		return file_damaged("a section is shorter than what is in it");
	r->left -= size;
	return chunk_reader_fill(&r->chunks, data, size);
}

static struct error *take_label(struct reader *r, char label[static LABEL_MAX])
{
	uint8_t len = 0;
	struct error *err = take_bytes(r, &len, sizeof(len));

	if (!err)
		err = take_bytes(r, label, len);
	label[len] = '\0';
	return err;
}

/* --- tables ------------------------------------------------------------------------- */

static bool is_sized(char kind, uint8_t width)
{
	switch (kind) {
	case 'i':
		return width == 1 || width == 2 || width == 4 || width == 8;
	case 'b':
		return width == 1;
	case 'f':
		return width == 8;
	default:
		return kind == 's' && width == 4;
	}
}

static const struct file_field *find_field(const struct file_table *table,
					   const char *label)
{
	for (size_t i = 0; i < table->field_count; i++) {
		if (!strcmp(table->fields[i].name, label))
			return &table->fields[i];
	}
	return NULL;
}

static struct error *take_column(struct reader *r, const struct file_table *table)
{
	char label[LABEL_MAX];
	uint8_t form[4];
	struct error *err = take_label(r, label);
	struct column column = {.count = 0};

	if (!err)
		err = take_bytes(r, form, sizeof(form));
	if (err)
		return err;
	column.field = find_field(table, label);
	column.width = form[1];
	column.count = (uint16_t)(form[2] | form[3] << 8);
	if (!is_sized((char)form[0], form[1]) || !column.count)
		return file_damaged("a column of %s has an unknown form", table->name);
	if (column.field && (file_kind_letter(column.field->kind) != form[0] ||
			     file_field_bytes(column.field) != column.width ||
			     column.field->count < column.count))
		return file_damaged("column %s of %s has another form",
				    column.field->name, table->name);
	return vec_push(&r->columns, column) ? NULL : error_no_memory();
}

/* Decode an element; false if it is invalid. */
static bool decode(const struct reader *r, const struct file_field *field, char *to,
		   const unsigned char *from, size_t width)
{
	uint32_t index;
	char *text;

	switch (field->kind) {
	case FILE_TEXT:
		file_copy_integer(&index, from, sizeof(index));
		/* A string table read from a file is not changed later. */
		text = (char *)string_table_get(&r->content->snap.strings, index);
		memcpy(to, &text, sizeof(text));
		return text || index == STRING_NONE;
	case FILE_FLAG:
		*(bool *)to = *from;
		return *from < 2;
	default:
		file_copy_integer(to, from, width);
		return true;
	}
}

/* Read a column. The file is stored column by column, memory row by row. */
static struct error *take_data(struct reader *r, const struct file_table *table,
			       const struct file_rows *rows, const struct column *column)
{
	const struct file_field *field = column->field;
	size_t width = column->width, left = rows->count * column->count;
	char *row = rows->first;
	size_t element = 0;

	r->left -= left * width;
	if (!field)
		return chunk_reader_fill(&r->chunks, NULL, left * width);
	while (left) {
		unsigned char split[sizeof(uint64_t)];
		const unsigned char *from;
		size_t got, whole;
		struct error *err =
			chunk_reader_get(&r->chunks, left * width, &from, &got);

		if (!err && !got)
			err = file_damaged("its content is cut short");
		if (err)
			return err;
		/* An element may be split between two chunks. */
		if (got < width) {
			memcpy(split, from, got);
			err = chunk_reader_fill(&r->chunks, split + got, width - got);
			if (err)
				return err;
			from = split;
			whole = 1;
		} else {
			whole = got / width;
			chunk_reader_unget(&r->chunks, got % width);
		}
		left -= whole;
		for (; whole; whole--, from += width) {
			if (!decode(r, field, row + field->offset + element * width, from,
				    width))
				return file_damaged("column %s of %s has a wrong value",
						    field->name, table->name);
			if (++element == column->count) {
				element = 0;
				row += table->row_bytes;
			}
		}
	}
	return NULL;
}

static struct error *wrong_size(const struct file_table *table)
{
	return file_damaged("table %s has a wrong size", table->name);
}

/* Make room for the rows, but only if their size in the file is the section's size. */
static struct error *make_rows(struct reader *r, const struct file_table *table,
			       uint64_t count)
{
	uint64_t row_bytes = 0, size;

	vec_foreach (column, &r->columns)
		row_bytes += (uint64_t)column->width * column->count;
	if (__builtin_mul_overflow(count, row_bytes, &size) || size != r->left || !count)
		return wrong_size(table);
	if (table->rows ? count > table->rows : row_bytes * ROW_RATIO < table->row_bytes)
		return file_damaged("table %s has a wrong number of rows", table->name);
	return file_rows_make(table, r->content, count, true) ? NULL : error_no_memory();
}

/* Read rows that are as in memory. */
static struct error *take_plain(struct reader *r, const struct file_table *table,
				uint64_t count)
{
	uint64_t size;

	if (__builtin_mul_overflow(count, (uint64_t)table->row_bytes, &size) ||
	    size != r->left || !count)
		return wrong_size(table);
	if (!file_rows_make(table, r->content, count, false))
		return error_no_memory();
	return take_bytes(r, file_rows_get(table, r->content).first, size);
}

static struct error *take_table(struct reader *r, const struct file_table *table)
{
	uint64_t bit = UINT64_C(1) << (table - file_tables);
	uint64_t count = 0;
	uint8_t columns = 0;
	struct file_rows rows;
	struct error *err;

	if (r->tables & bit)
		return file_damaged("table %s comes twice", table->name);
	r->tables |= bit;
	r->columns.len = 0;
	err = take_bytes(r, &count, sizeof(count));
	if (!err)
		err = take_bytes(r, &columns, sizeof(columns));
	for (unsigned i = 0; !err && i < columns; i++)
		err = take_column(r, table);
	if (!err && !columns && r->is_quick && file_table_is_plain(table))
		return take_plain(r, table, le64toh(count));
	if (!err)
		err = make_rows(r, table, le64toh(count));
	rows = file_rows_get(table, r->content);
	/* A fixed table may have fewer rows in the file. */
	rows.count = le64toh(count);
	for (size_t i = 0; !err && i < r->columns.len; i++)
		err = take_data(r, table, &rows, &r->columns.data[i]);
	return err;
}

/* --- sections ----------------------------------------------------------------------- */

static struct error *take_strings(struct reader *r)
{
	_cleanup_(freep) char *bytes = NULL;
	struct string_table *strings = &r->content->snap.strings;
	size_t len = r->left;
	struct error *err;

	if (r->has_strings || r->tables)
		return file_damaged("its strings do not come first");
	r->has_strings = true;
	if (len > UINT32_MAX)
		return file_damaged("its strings are too long");
	if (!len)
		return NULL;
	bytes = malloc(len);
	if (!bytes)
		return error_no_memory();
	err = take_bytes(r, bytes, len);
	if (err)
		return err;
	if (bytes[len - 1])
		return file_damaged("its last string has no end");
	if (!string_table_take(strings, bytes, len))
		return error_no_memory();
	bytes = NULL;
	return NULL;
}

static struct error *take_section(struct reader *r)
{
	char label[LABEL_MAX];
	struct error *err;

	r->left = UINT64_MAX;
	err = take_label(r, label);
	if (!err)
		err = chunk_reader_get_u64(&r->chunks, &r->left);
	if (err)
		return err;
	/* Check this before allocating memory for it. */
	if (r->left > chunk_reader_most(&r->chunks))
		return file_damaged("a section is longer than the file");
	if (!strcmp(label, "strings"))
		return take_strings(r);
	for (size_t i = 0; i < file_table_count; i++) {
		if (!strcmp(file_tables[i].name, label))
			return take_table(r, &file_tables[i]);
	}
	return chunk_reader_fill(&r->chunks, NULL, r->left);
}

static struct error *take_all(struct reader *r)
{
	struct error *err = NULL;

	while (!err) {
		const unsigned char *at;
		size_t got;

		err = chunk_reader_get(&r->chunks, 0, &at, &got);
		if (!err && r->chunks.ended)
			break;
		if (!err)
			err = take_section(r);
	}
	/* Bit 0: the table "run". */
	if (!err && !(r->tables & 1))
		err = file_damaged("it has no table run");
	return err ? err : file_check(r->content);
}

static struct error *read_file(FILE *in, uint64_t size_bytes, bool is_quick,
			       struct snapshot **ret)
{
	struct file_content content = {.modules = {0}};
	struct reader r = {.content = &content, .is_quick = is_quick};
	struct snapshot *snap = snapshot_create();
	struct error *err;

	if (!snap)
		return error_no_memory();
	content.snap = *snap;
	err = chunk_reader_init(&r.chunks, in, size_bytes);
	if (!err)
		err = take_all(&r);
	*snap = content.snap;
	chunk_reader_deinit(&r.chunks);
	vec_deinit(&r.columns);
	file_content_deinit(&content);
	if (err)
		snapshot_destroy(snap);
	else
		*ret = snap;
	return err;
}

struct error *snapshot_read(FILE *in, uint64_t size_bytes, struct snapshot **ret)
{
	return read_file(in, size_bytes, false, ret);
}

struct error *snapshot_read_quickly(FILE *in, uint64_t size_bytes, struct snapshot **ret)
{
	return read_file(in, size_bytes, true, ret);
}
