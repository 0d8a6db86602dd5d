/* SPDX-License-Identifier: Apache-2.0 */
/* A small snapshot with a value in every field of the file format, and files in
 * memory. */
#ifndef TESTS_UNIT_SNAPSHOT_FILLED_H
#define TESTS_UNIT_SNAPSHOT_FILLED_H

#include "check.h"

#include <math.h>

#include "snapshot/file.h"
#include "snapshot/file_tables.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct snapshot *, snapshot_destroy);

struct bytes {
	char *data;
	size_t len;
};

static inline void bytes_deinit(struct bytes *bytes)
{
	free(bytes->data);
}

#define FILLED_ROWS 3

static inline void filled_make_rows(struct snapshot *snap)
{
	struct file_content content = {.snap = *snap};

	for (size_t t = 0; t < file_table_count; t++) {
		/* One more is for blocks without a stack. */
		bool is_held = !strncmp(file_tables[t].name, "held.", 5);

		/* Modules, losses and ends are not tables of the snapshot. */
		if (file_tables[t].offset < sizeof(*snap))
			REQUIRE(file_rows_make(&file_tables[t], &content,
					       FILLED_ROWS + is_held, true));
	}
	*snap = content.snap;
}

/* Fills fields with different numbers, as far as their sizes permit. */
static inline void filled_number(const struct file_table *table, struct file_content *c)
{
	static uint64_t next = UINT64_C(0xfedcba9876543210);
	struct file_rows rows = file_rows_get(table, c);

	for (size_t r = 0; r < rows.count; r++) {
		char *row = rows.first + r * table->row_bytes;

		for (size_t f = 0; f < table->field_count; f++) {
			const struct file_field *field = &table->fields[f];
			double number = (double)next / 3;
			char text[32];
			char *owned;

			for (size_t e = 0; e < field->count; e++, next += 0x1000193) {
				char *at = row + field->offset + e * field->width;

				if (field->kind == FILE_FLAG)
					*(bool *)at = true;
				else if (field->kind == FILE_FLOAT)
					memcpy(at, &number, sizeof(number));
				else if (field->kind == FILE_INTEGER)
					memcpy(at, &next, field->width);
			}
			if (field->kind != FILE_TEXT)
				continue;
			snprintf(text, sizeof(text), "%s %" PRIx64, field->name, next);
			owned = strdup(text);
			memcpy(row + field->offset, &owned, sizeof(owned));
		}
	}
}

/* Makes all indices valid. */
static inline void filled_indices(struct snapshot *snap)
{
	for (uint32_t i = 0; i < FILLED_ROWS; i++) {
		struct snapshot_stack *stack = &snap->stacks.data[i];

		snap->processes.data[i].pid = 100 + (int)i;
		*stack = (struct snapshot_stack){.first_frame = 1,
						 .depth = 2,
						 .end = (uint8_t)i,
						 .allocator = 1,
						 .process = i,
						 .gap = 1};
		for (size_t k = 0; k < BLOCK_CLASS_COUNT; k++) {
			if (k == BLOCK_EVENT)
				continue;
			snap->blocks[k].data[i].stack = i ? i - 1 : SNAPSHOT_NO_STACK;
			snap->blocks[k].data[i].process = i;
		}
		snap->threads.data[i].process = i;
		snap->names.data[i].process = i;
		snap->names.data[i].symbol = 0;
		snap->names.data[i].module = i ? 1 : STRING_NONE;
		snap->names.data[i].first_source = i;
		snap->names.data[i].source_count = 1;
		snap->sources.data[i].function = i ? 2 : STRING_NONE;
		snap->sources.data[i].file = 1;
	}
}

static inline struct snapshot *filled_snapshot(void)
{
	static const char *const names[] = {"main", "/bin/program", "inlined \xff"};
	struct snapshot *snap = snapshot_create();
	struct file_content content;
	uint32_t index;

	REQUIRE(snap);
	filled_make_rows(snap);
	content.snap = *snap;
	for (size_t t = 0; t < file_table_count; t++) {
		if (file_tables[t].offset < sizeof(*snap))
			filled_number(&file_tables[t], &content);
	}
	*snap = content.snap;
	for (size_t i = 0; i < LOSS_COUNT; i++)
		snap->losses[i] = i * i + 1;
	for (uint32_t i = 0; i < 3; i++) {
		REQUIRE(string_table_add(&snap->strings, names[i], &index));
		CHECK_INT(index, i);
	}
	for (uint64_t i = 0; i < 2; i++) {
		const struct snapshot_module module = {
			.start = 0x1000 + i * 0x1000,
			.end = 0x2000 + i * 0x1000,
			.file_offset = 0x123 + i,
			.path = strdup("/lib/a file"),
			.build_id = i ? strdup("abcdef") : NULL,
		};

		REQUIRE(vec_push(&snap->processes.data[1].modules, module));
	}
	filled_indices(snap);
	return snap;
}

static inline struct bytes filled_write(const struct snapshot *snap)
{
	struct bytes bytes;
	FILE *out = open_memstream(&bytes.data, &bytes.len);

	REQUIRE(out);
	REQUIRE(!snapshot_write(snap, out));
	REQUIRE(!fclose(out));
	return bytes;
}

static inline struct error *
filled_read_by(struct error *(*read)(FILE *in, uint64_t size, struct snapshot **ret),
	       const char *data, size_t len, struct snapshot **ret)
{
	/* fmemopen() refuses empty files. */
	FILE *in = len ? fmemopen((void *)data, len, "r") : fopen("/dev/null", "re");
	struct error *err;

	REQUIRE(in);
	err = read(in, len, ret);
	fclose(in);
	return err;
}

static inline struct error *filled_read(const char *data, size_t len,
					struct snapshot **ret)
{
	return filled_read_by(snapshot_read, data, len, ret);
}

#endif
