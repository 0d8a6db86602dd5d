// SPDX-License-Identifier: Apache-2.0
/* All that is written can be read again, and additions of later versions are skipped. */
#include "filled.h"

#include "snapshot/file_chunks.h"

static void compare_tables(struct snapshot *a, struct snapshot *b)
{
	struct file_content ca = {.snap = *a}, cb = {.snap = *b};

	for (size_t t = 0; t < file_table_count; t++) {
		const struct file_table *table = &file_tables[t];
		struct file_rows x = file_rows_get(table, &ca);
		struct file_rows y = file_rows_get(table, &cb);

		CHECK_INT(x.count, y.count);
		if (table->offset < sizeof(*a))
			CHECK(x.count >= 1);
		for (size_t r = 0; r < x.count && r < y.count; r++) {
			for (size_t f = 0; f < table->field_count; f++) {
				const struct file_field *field = &table->fields[f];
				char *p = x.first + r * table->row_bytes + field->offset;
				char *q = y.first + r * table->row_bytes + field->offset;

				check_state.checks++;
				if (field->kind == FILE_TEXT
					    ? strcmp(*(char **)p, *(char **)q)
					    : memcmp(p, q,
						     (size_t)field->width *
							     field->count) != 0)
					CHECK_FAIL("%s of %s differs", field->name,
						   table->name);
			}
		}
	}
}

static void everything_travels(void)
{
	_cleanup_(snapshot_destroyp) struct snapshot *snap = filled_snapshot();
	_cleanup_(snapshot_destroyp) struct snapshot *got = NULL;
	_cleanup_(bytes_deinit) struct bytes file = filled_write(snap);

	REQUIRE(!filled_read(file.data, file.len, &got));
	compare_tables(snap, got);
	for (size_t i = 0; i < LOSS_COUNT; i++)
		CHECK_INT(got->losses[i], i * i + 1);
	CHECK_INT(got->processes.data[0].modules.len, 0);
	REQUIRE(got->processes.data[1].modules.len == 2);

	const struct snapshot_module *module = &got->processes.data[1].modules.data[1];

	CHECK_INT(module->start, 0x2000);
	CHECK_INT(module->end, 0x3000);
	CHECK_INT(module->file_offset, 0x124);
	CHECK_STR(module->path, "/lib/a file");
	CHECK_STR(module->build_id, "abcdef");
	CHECK(!module[-1].build_id);
	for (uint32_t i = 0; i < 3; i++)
		CHECK_STR(string_table_get(&got->strings, i),
			  string_table_get(&snap->strings, i));

	/* What was read can be written again. */
	_cleanup_(bytes_deinit) struct bytes again = filled_write(got);
	_cleanup_(snapshot_destroyp) struct snapshot *second = NULL;

	CHECK(again.len < file.len + 64);
	REQUIRE(!filled_read(again.data, again.len, &second));
	compare_tables(got, second);
}

/* The same without compression; cut short, it is refused. */
static void everything_travels_quickly(void)
{
	_cleanup_(snapshot_destroyp) struct snapshot *snap = filled_snapshot();
	_cleanup_(snapshot_destroyp) struct snapshot *got = NULL, *none = NULL;
	_cleanup_(bytes_deinit) struct bytes file = {NULL, 0};
	FILE *out = open_memstream(&file.data, &file.len);
	struct error *err;

	REQUIRE(out && !snapshot_write_quickly(snap, out) && !fclose(out));
	REQUIRE(!filled_read_by(snapshot_read_quickly, file.data, file.len, &got));
	compare_tables(snap, got);
	/* Others refuse the file. */
	err = filled_read(file.data, file.len, &none);
	REQUIRE(err);
	CHECK_CONTAINS(err->message, "is damaged: table frames has a wrong size");
	error_destroy(err);
	/* It is not compressed: its text can be read. */
	CHECK(memmem(file.data, file.len, "/bin/program", 12));
	for (size_t len = 0; len < file.len; len += 1 + len / 16) {
		err = filled_read_by(snapshot_read_quickly, file.data, len, &none);
		REQUIRE(err);
		CHECK_INT(err->code, ERROR_MALFORMED);
		error_destroy(err);
	}
	/* The size of a chunk is checked. */
	file.data[16] ^= 1;
	err = filled_read_by(snapshot_read_quickly, file.data, file.len, &none);
	REQUIRE(err);
	CHECK_CONTAINS(err->message, "is damaged: a chunk has a wrong checksum");
	error_destroy(err);
}

/* An empty snapshot has the default values. */
static void nothing_travels(void)
{
	_cleanup_(snapshot_destroyp) struct snapshot *snap = snapshot_create(),
						     *got = NULL;
	_cleanup_(bytes_deinit) struct bytes file = filled_write(snap);

	REQUIRE(!filled_read(file.data, file.len, &got));
	CHECK_INT(got->sampling.every, 1);
	CHECK(got->max_size_bytes == UINT64_MAX);
	CHECK(!got->processes.len && !got->library && !got->has_traffic);
}

/* Many chunks, whose size is not a multiple of an element's. */
static void many_blocks(void)
{
	_cleanup_(snapshot_destroyp) struct snapshot *snap = filled_snapshot();
	_cleanup_(snapshot_destroyp) struct snapshot *got = NULL;

	for (uint64_t i = 0; i < 100000; i++)
		REQUIRE(vec_push(&snap->blocks[BLOCK_HEAP],
				 (struct snapshot_block){
					 .address = i * UINT64_C(0x9e3779b97f4a7c15),
					 .size_bytes = i,
					 .tid = (uint32_t)i ^ 0x5a5a5a5a,
					 .stack = (uint32_t)(i % 3),
				 }));

	_cleanup_(bytes_deinit) struct bytes file = filled_write(snap);

	CHECK(file.len > 8 * CHUNK_CONTENT / 4);
	REQUIRE(!filled_read(file.data, file.len, &got));
	compare_tables(snap, got);
}

/* Only zeros: the file is still large enough not to be taken for a bomb. */
static void zeros_are_not_too_small(void)
{
	_cleanup_(snapshot_destroyp) struct snapshot *snap = filled_snapshot();
	_cleanup_(snapshot_destroyp) struct snapshot *got = NULL;

	REQUIRE(vec_reserve(&snap->frames, 1000000));
	memset(snap->frames.data, 0, 1000000 * sizeof(uint64_t));
	snap->frames.len = 1000000;

	_cleanup_(bytes_deinit) struct bytes file = filled_write(snap);

	CHECK(file.len >= 8000000 / CHUNK_RATIO);
	CHECK(file.len < 8000000 / CHUNK_RATIO * 2);
	REQUIRE(!filled_read(file.data, file.len, &got));
	CHECK_INT(got->frames.len, 1000000);
}

/*
 * Fails if a member is added to a struct of the snapshot but not to its table in
 * file_tables.c: it counts the bytes of a row that are in no field, which are only
 * padding now. When this fails, add the field. Change the number only if the bytes are
 * padding.
 */
static void no_field_is_removed(void)
{
	static const struct {
		const char *table;
		size_t padding;
	} known[] = {
		{"processes",
		 7 + sizeof(((struct snapshot_process *)NULL)->modules) +
			 sizeof(((struct snapshot_process *)NULL)->since_ns)},
		{"modules", 4},
		{"heap", 4},
		{"threads", 7},
		{"trends.heap", 8},
		{"names", 4},
		{"sources", 3},
		{"before.processes.heap", 4},
		{"kernel", 4},
		{"kernel.classes", 0},
		{"trends.kernel", 8},
		{"before.processes.kernel", 4},
	};

	for (size_t t = 0; t < file_table_count; t++) {
		const struct file_table *table = &file_tables[t];
		size_t bytes = 0, padding = 0;

		/* Its other members are separate tables (see below). */
		if (!strcmp(table->name, "run"))
			continue;
		for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
			size_t len = strlen(known[i].table);

			if (!strncmp(table->name, known[i].table, len) ||
			    (!strcmp(table->name, "mappings") &&
			     !strcmp(known[i].table, "heap")) ||
			    (!strcmp(table->name, "trends.mappings") &&
			     !strcmp(known[i].table, "trends.heap")) ||
			    (!strcmp(table->name, "before.processes.mappings") &&
			     !strcmp(known[i].table, "before.processes.heap")))
				padding = known[i].padding;
		}
		for (size_t f = 0; f < table->field_count; f++)
			bytes += (size_t)table->fields[f].width * table->fields[f].count;
		if (bytes + padding != table->row_bytes)
			CHECK_FAIL("%s: %zu bytes of %zu are in fields", table->name,
				   bytes, table->row_bytes);
		check_state.checks++;
	}
}

static void no_member_is_removed(void)
{
	bool covered[sizeof(struct snapshot)] = {false};
	size_t left = 0;

	for (size_t t = 0; t < file_table_count; t++) {
		const struct file_table *table = &file_tables[t];
		/* A VEC() is a pointer and two numbers. */
		size_t size = table->rows ? table->rows * table->row_bytes
					  : sizeof(((struct snapshot *)NULL)->frames);

		if (table->offset >= sizeof(covered))
			continue;
		if (table->row_bytes == sizeof(struct snapshot)) {
			for (size_t f = 0; f < table->field_count; f++)
				memset(covered + table->fields[f].offset, true,
				       (size_t)table->fields[f].width *
					       table->fields[f].count);
		} else {
			memset(covered + table->offset, true, size);
		}
	}
	/* Written by name, and as the first section. */
	memset(covered + offsetof(struct snapshot, losses), true,
	       sizeof(((struct snapshot *)NULL)->losses));
	memset(covered + offsetof(struct snapshot, strings), true,
	       sizeof(struct string_table));
	/* Events are not saved (options/options.c). */
#define NOT_SAVED(member)                                                                \
	memset(covered + offsetof(struct snapshot, member), true,                        \
	       sizeof(((struct snapshot *)NULL)->member))
	NOT_SAVED(event);
	NOT_SAVED(event_period);
	NOT_SAVED(event_bytes);
	NOT_SAVED(events);
	NOT_SAVED(blocks[BLOCK_EVENT]);
	NOT_SAVED(totals[BLOCK_EVENT]);
	NOT_SAVED(trends[BLOCK_EVENT]);
	NOT_SAVED(before.stacks[BLOCK_EVENT]);
	NOT_SAVED(before.totals[BLOCK_EVENT]);
	NOT_SAVED(before.estimated_totals[BLOCK_EVENT]);
	NOT_SAVED(before.processes[BLOCK_EVENT]);
	NOT_SAVED(sums_only);
	NOT_SAVED(made_of);
	NOT_SAVED(stack_numbers);
	NOT_SAVED(stack_number_count);
	NOT_SAVED(stack_members);
	NOT_SAVED(stack_member_count);
	for (size_t i = 0; i < sizeof(covered); i++)
		left += !covered[i];
	/* Padding after the flags. */
	CHECK_INT(left, 7 + 4 + 7 + 3 + 7);
}

/* An unknown section and an unknown column, after the known ones. */
static void later_versions_add(void)
{
	static const char section[] = "\x05"
				      "later"
				      "\x04\0\0\0\0\0\0\0data";
	/* Two allocators: known columns, and one column of three 16-bit numbers. */
	static const char table[] = "\x0a"
				    "allocators"
				    "\x44\0\0\0\0\0\0\0"
				    "\x02\0\0\0\0\0\0\0"
				    "\x03"
				    "\x05label"
				    "s\x04\x01\0"
				    "\x05marks"
				    "i\x02\x03\0"
				    "\x06module"
				    "s\x04\x01\0"
				    "\0\0\0\0\x01\0\0\0"
				    "0123456789ab"
				    "\x01\0\0\0\0\0\0\0";
	static const char strings[] = "\x07"
				      "strings"
				      "\x09\0\0\0\0\0\0\0"
				      "hi\0there";
	static const char run[] = "\x03run"
				  "\x1d\0\0\0\0\0\0\0"
				  "\x01\0\0\0\0\0\0\0"
				  "\x01"
				  "\x07wall_ns"
				  "i\x08\x01\0"
				  "\x15\xcd\x5b\x07\0\0\0\0";
	_cleanup_(snapshot_destroyp) struct snapshot *got = NULL;
	_cleanup_(bytes_deinit) struct bytes file;
	struct chunk_writer w;
	FILE *out = open_memstream(&file.data, &file.len);

	REQUIRE(out && !chunk_writer_init(&w, out));
	chunk_writer_add(&w, strings, sizeof(strings));
	chunk_writer_add(&w, run, sizeof(run) - 1);
	chunk_writer_add(&w, section, sizeof(section) - 1);
	chunk_writer_add(&w, table, sizeof(table) - 1);
	REQUIRE(!chunk_writer_finish(&w));
	chunk_writer_deinit(&w);
	REQUIRE(!fclose(out));

	struct error *err = filled_read(file.data, file.len, &got);

	if (err)
		CHECK_FAIL("%s", err->message);
	REQUIRE(!err);
	CHECK_INT(got->wall_ns, 123456789);
	CHECK_INT(got->sampling.every, 1);
	REQUIRE(got->allocators.len == 2);
	CHECK_STR(got->allocators.data[0].label, "hi");
	CHECK_STR(got->allocators.data[1].label, "there");
	CHECK_STR(got->allocators.data[0].module, "there");
	CHECK_STR(got->allocators.data[1].module, "hi");
}

int main(void)
{
	RUN(everything_travels);
	RUN(everything_travels_quickly);
	RUN(nothing_travels);
	RUN(many_blocks);
	RUN(zeros_are_not_too_small);
	RUN(no_field_is_removed);
	RUN(no_member_is_removed);
	RUN(later_versions_add);
	return check_done();
}
