// SPDX-License-Identifier: Apache-2.0
#include "snapshot/file.h"

#include <endian.h>
#include <string.h>

#include "snapshot/file_chunks.h"
#include "snapshot/file_tables.h"
#include "util/cleanup.h"

/* The size of the rows that are encoded at once. */
#define BATCH_BYTES ((size_t)32 * 1024)

struct writer {
	struct chunk_writer chunks;
	struct file_content content; /* shares data with the snapshot */
	struct string_table texts; /* strings that are not in the snapshot's own table */
	bool is_quick;             /* rows of numbers are copied as they are */
	bool failed;               /* out of memory */
};

/* --- what is only in tables --------------------------------------------------------- */

static bool add_modules(struct file_content *content)
{
	vec_foreach (process, &content->snap.processes) {
		uint32_t index = (uint32_t)(process - content->snap.processes.data);

		vec_foreach (module, &process->modules) {
			if (!vec_push(&content->modules,
				      (struct file_module){index, *module}))
				return false;
		}
	}
	return true;
}

/* Add losses and ends, which are written by name: enum values change when one is
 * added. */
static bool add_names(struct file_content *content)
{
	bool ok = true;

	for (int i = 0; ok && i < LOSS_COUNT; i++)
		ok = vec_push(&content->losses,
			      (struct file_loss){(char *)loss_name((enum loss)i),
						 content->snap.losses[i]});
	for (int i = 0; ok && i < STACK_END_COUNT; i++)
		ok = vec_push(&content->ends, (struct file_end){(char *)stack_end_name(
						      (enum stack_end)i)});
	return ok;
}

/* --- strings ------------------------------------------------------------------------ */

static uint32_t text_index(struct writer *w, const char *text)
{
	const struct string_table *own = &w->content.snap.strings;
	uint32_t index;

	if (string_table_owns(own, text))
		return string_table_index(own, text);
	if (!string_table_add(&w->texts, text, &index))
		w->failed = true;
	return index == STRING_NONE ? index : index + (uint32_t)own->starts.len;
}

static void collect_column(struct writer *w, const struct file_rows *rows,
			   const struct file_table *table, const struct file_field *field)
{
	for (size_t i = 0; i < rows->count; i++) {
		char *text;

		memcpy(&text, rows->first + i * table->row_bytes + field->offset,
		       sizeof(text));
		text_index(w, text);
	}
}

static void collect_texts(struct writer *w)
{
	for (size_t t = 0; t < file_table_count; t++) {
		const struct file_table *table = &file_tables[t];
		struct file_rows rows = file_rows_get(table, &w->content);

		for (size_t f = 0; f < table->field_count; f++) {
			if (table->fields[f].kind == FILE_TEXT)
				collect_column(w, &rows, table, &table->fields[f]);
		}
	}
}

/* --- sections ----------------------------------------------------------------------- */

static void add_label(struct writer *w, const char *label)
{
	unsigned char len = (unsigned char)strlen(label);

	chunk_writer_add(&w->chunks, &len, 1);
	chunk_writer_add(&w->chunks, label, len);
}

static void write_strings(struct writer *w)
{
	const struct string_table *own = &w->content.snap.strings;

	add_label(w, "strings");
	chunk_writer_add_u64(&w->chunks, own->bytes.len + w->texts.bytes.len);
	chunk_writer_add(&w->chunks, own->bytes.data, own->bytes.len);
	chunk_writer_add(&w->chunks, w->texts.bytes.data, w->texts.bytes.len);
}

static void encode(struct writer *w, const struct file_field *field, unsigned char *to,
		   const char *from)
{
	size_t width = file_field_bytes(field);

	if (field->kind == FILE_TEXT) {
		uint32_t index;
		char *text;

		memcpy(&text, from, sizeof(text));
		index = text_index(w, text);
		file_copy_integer(to, &index, sizeof(index));
		return;
	}
	for (size_t i = 0; i < field->count; i++)
		file_copy_integer(to + i * width, from + i * width, width);
}

static void write_column(struct writer *w, const struct file_rows *rows, size_t row_bytes,
			 const struct file_field *field)
{
	size_t width = file_field_bytes(field) * field->count;
	size_t batch = BATCH_BYTES / width;
	const char *from = rows->first + field->offset;

	for (size_t i = 0; i < rows->count; i += batch) {
		size_t count = rows->count - i < batch ? rows->count - i : batch;
		unsigned char *to = chunk_writer_room(&w->chunks, count * width);

		for (size_t k = 0; k < count; k++)
			encode(w, field, to + k * width, from + (i + k) * row_bytes);
	}
}

/* Whole rows as they are in memory, for a child of this process. The padding between
 * members is written too, whatever it contains. */
static void write_plain(struct writer *w, const struct file_table *table,
			const struct file_rows *rows)
{
	uint64_t size = (uint64_t)rows->count * table->row_bytes;

	add_label(w, table->name);
	chunk_writer_add_u64(&w->chunks, sizeof(uint64_t) + sizeof(uint8_t) + size);
	chunk_writer_add_u64(&w->chunks, rows->count);
	chunk_writer_add(&w->chunks, &(uint8_t){0}, 1);
	chunk_writer_add(&w->chunks, rows->first, size);
}

static void write_table(struct writer *w, const struct file_table *table)
{
	struct file_rows rows = file_rows_get(table, &w->content);
	uint64_t size = sizeof(uint64_t) + sizeof(uint8_t);

	if (!rows.count)
		return;
	if (w->is_quick && file_table_is_plain(table)) {
		write_plain(w, table, &rows);
		return;
	}
	for (size_t i = 0; i < table->field_count; i++) {
		const struct file_field *field = &table->fields[i];

		size += 1 + strlen(field->name) + 1 + 1 + sizeof(uint16_t);
		size += (uint64_t)rows.count * field->count * file_field_bytes(field);
	}
	add_label(w, table->name);
	chunk_writer_add_u64(&w->chunks, size);
	chunk_writer_add_u64(&w->chunks, rows.count);
	chunk_writer_add(&w->chunks, &(uint8_t){(uint8_t)table->field_count}, 1);
	for (size_t i = 0; i < table->field_count; i++) {
		const struct file_field *field = &table->fields[i];
		const uint8_t form[] = {(uint8_t)file_kind_letter(field->kind),
					(uint8_t)file_field_bytes(field)};
		uint16_t count = htole16(field->count);

		add_label(w, field->name);
		chunk_writer_add(&w->chunks, form, sizeof(form));
		chunk_writer_add(&w->chunks, &count, sizeof(count));
	}
	for (size_t i = 0; i < table->field_count; i++)
		write_column(w, &rows, table->row_bytes, &table->fields[i]);
}

static struct error *write_all(const struct snapshot *snap, bool packs, FILE *out)
{
	struct writer w = {.content = {.snap = *snap}};
	struct error *err = chunk_writer_init(&w.chunks, out);

	if (err)
		return err;
	w.chunks.stores = w.is_quick = !packs;
	w.failed = !add_modules(&w.content) || !add_names(&w.content);
	if (!w.failed)
		collect_texts(&w);
	if (!w.failed) {
		write_strings(&w);
		for (size_t i = 0; i < file_table_count; i++)
			write_table(&w, &file_tables[i]);
	}
	err = w.failed ? error_no_memory() : chunk_writer_finish(&w.chunks);
	chunk_writer_deinit(&w.chunks);
	file_content_deinit(&w.content);
	string_table_deinit(&w.texts);
	return err;
}

struct error *snapshot_write(const struct snapshot *snap, FILE *out)
{
	return write_all(snap, true, out);
}

struct error *snapshot_write_quickly(const struct snapshot *snap, FILE *out)
{
	return write_all(snap, false, out);
}
