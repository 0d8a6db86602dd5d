// SPDX-License-Identifier: Apache-2.0
/* Go's function table in the layout of each version: handmade and damaged ones. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "elf/go_table.h"
#include "unit/random.h"

#define TEXT 0x401000u

/* A table under construction. */
struct built {
	uint8_t bytes[1024];
	size_t size;
};

static void put(struct built *b, const void *bytes, size_t size)
{
	REQUIRE(size <= sizeof(b->bytes) - b->size);
	memcpy(b->bytes + b->size, bytes, size);
	b->size += size;
}

static void put_number(struct built *b, uint64_t value, size_t size)
{
	put(b, &value, size);
}

static void set_word(struct built *b, size_t at, uint64_t value)
{
	memcpy(b->bytes + at, &value, 8);
}

/* Two functions: main.main of 0x40 bytes and main.leak of 0x20. */
static const char names[] = "\0main.main\0main.leak";
static const char files[] = "\0/src/main.go\0/src/leak.go";
/* Depths: 0 for 4 bytes, 24 for 0x38 bytes, then 0. Lines: 10, 12. Files: 0, 1. */
static const uint8_t values[] = {0, /* no offset of this is used */
				 2,  4,    48, 0x38, 47, 4, 0, /* at 1: depths */
				 22, 4,    4,  0x3c, 0,        /* at 8: lines */
				 4,  0x40, 0};                 /* at 13: file 1 */

static void put_details(struct built *b, unsigned version, uint64_t start, uint32_t name,
			const uint32_t at[3], uint8_t flags)
{
	put_number(b, start, version >= 118 ? 4 : 8);
	put_number(b, name, 4);
	put_number(b, 0, 8);
	for (int i = 0; i < 3; i++)
		put_number(b, at[i], 4);
	put_number(b, 0, 4);
	if (version >= 116)
		put_number(b, 0, 4); /* its unit */
	if (version >= 120)
		put_number(b, 7, 4);
	put_number(b, 9, 1);
	put_number(b, flags, 1);
	put_number(b, 0, 2);
}

/* The layout since Go 1.16. */
static struct built build(unsigned version)
{
	static const uint32_t main_values[] = {1, 13, 8}, none[] = {0, 0, 0};
	const bool is_new = version >= 118;
	const unsigned field = is_new ? 4 : 8;
	const size_t first = is_new ? 32 : 24;
	const uint64_t text = is_new ? 0 : TEXT;
	struct built b = {.size = 0};
	size_t functions;

	put_number(&b,
		   version == 116   ? 0xfffffffa
		   : version == 118 ? 0xfffffff0
				    : 0xfffffff1,
		   4);
	put_number(&b, 0x08010000, 4);
	put_number(&b, 2, 8);
	put_number(&b, 2, 8);
	if (is_new)
		put_number(&b, TEXT, 8);
	for (int i = 0; i < 5; i++)
		put_number(&b, 0, 8);
	set_word(&b, first, b.size);
	put(&b, names, sizeof(names));
	set_word(&b, first + 8, b.size);
	put_number(&b, UINT32_MAX, 4);
	put_number(&b, 14, 4);
	set_word(&b, first + 16, b.size);
	put(&b, files, sizeof(files));
	set_word(&b, first + 24, b.size);
	put(&b, values, sizeof(values));
	functions = b.size;
	set_word(&b, first + 32, functions);
	put_number(&b, text, field);
	put_number(&b, 5 * field, field);
	put_number(&b, text + 0x40, field);
	put_number(&b, 0, field); /* set below */
	put_number(&b, text + 0x60, field);
	put_details(&b, version, text, 1, main_values, 0);
	memcpy(b.bytes + functions + 3 * field, &(uint64_t){b.size - functions}, field);
	put_details(&b, version, text + 0x40, 11, none, 2);
	return b;
}

/* The layout before Go 1.16. */
static struct built build_old(void)
{
	struct built b = {.size = 0};
	size_t name_at, value_at, file_at;
	uint32_t at[3];

	put_number(&b, 0xfffffffb, 4);
	put_number(&b, 0x08010000, 4);
	put_number(&b, 1, 8);
	put_number(&b, TEXT, 8);
	put_number(&b, 0, 8); /* set below */
	put_number(&b, TEXT + 0x40, 8);
	put_number(&b, 0, 4); /* set below */
	name_at = b.size;
	put(&b, names, sizeof(names));
	value_at = b.size;
	put(&b, values, sizeof(values));
	file_at = b.size;
	put(&b, files, sizeof(files));
	memcpy(b.bytes + 40, &(uint32_t){(uint32_t)b.size}, 4);
	put_number(&b, 2, 4);
	put_number(&b, file_at + 14, 4);
	at[0] = (uint32_t)value_at + 1;
	at[1] = (uint32_t)value_at + 13;
	at[2] = (uint32_t)value_at + 8;
	set_word(&b, 24, b.size);
	put_details(&b, 12, TEXT, (uint32_t)name_at + 1, at, 0);
	return b;
}

static void check_main(const struct go_table *table)
{
	struct go_function function;
	struct go_values depths;
	const char *file;

	REQUIRE(go_table_find(table, TEXT + 0x3f, &function));
	CHECK_INT(function.start, TEXT);
	CHECK_INT(function.end, TEXT + 0x40);
	CHECK_STR(go_table_name(table, &function), "main.main");
	CHECK(go_table_name_is(table, &function, "main.main"));
	CHECK(!go_table_name_is(table, &function, "main.mai"));
	CHECK(!function.writes_sp);
	depths = go_values(table, &function, function.depths);
	REQUIRE(go_values_next(&depths, &function));
	CHECK_INT(depths.start, TEXT);
	CHECK_INT(depths.end, TEXT + 4);
	CHECK_INT(depths.value, 0);
	REQUIRE(go_values_next(&depths, &function));
	CHECK_INT(depths.end, TEXT + 0x3c);
	CHECK_INT(depths.value, 24);
	REQUIRE(go_values_next(&depths, &function));
	CHECK_INT(depths.end, TEXT + 0x40);
	CHECK_INT(depths.value, 0);
	CHECK(!go_values_next(&depths, &function));
	CHECK_INT(go_table_line(table, &function, TEXT + 3, &file), 10);
	CHECK_INT(go_table_line(table, &function, TEXT + 4, &file), 12);
	CHECK_STR(file, "/src/leak.go");
	CHECK(!go_table_find(table, TEXT - 1, &function));
	CHECK_INT(go_table_next(table, 0), TEXT);
}

static void versions(void)
{
	static const unsigned known[] = {116, 118, 120};
	struct go_function function;
	struct go_table table;
	struct go_values none;
	const char *file;
	struct built b;

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		b = build(known[i]);
		REQUIRE(go_table_init(&table, b.bytes, b.size, 0));
		CHECK_INT(table.version, known[i]);
		check_main(&table);
		REQUIRE(go_table_find(&table, TEXT + 0x40, &function));
		CHECK_STR(go_table_name(&table, &function), "main.leak");
		CHECK_INT(function.end, TEXT + 0x60);
		CHECK(function.writes_sp);
		none = go_values(&table, &function, function.depths);
		CHECK(!go_values_next(&none, &function));
		CHECK_INT(go_table_line(&table, &function, TEXT + 0x40, &file), 0);
		CHECK(!go_table_find(&table, TEXT + 0x60, &function));
		CHECK_INT(go_table_next(&table, TEXT), TEXT + 0x40);
		CHECK_INT(go_table_next(&table, TEXT + 0x40), UINT64_MAX);
	}
	b = build_old();
	REQUIRE(go_table_init(&table, b.bytes, b.size, 0));
	CHECK_INT(table.version, 12);
	check_main(&table);
}

/* The text's address is in a relocation. */
static void relocated(void)
{
	struct built b = build(120);
	struct go_function function;
	struct go_table table;

	set_word(&b, GO_TABLE_TEXT_AT, 0);
	REQUIRE(go_table_init(&table, b.bytes, b.size, TEXT + 0x1000));
	REQUIRE(go_table_find(&table, TEXT + 0x1000, &function));
	CHECK_STR(go_table_name(&table, &function), "main.main");
}

static void searched(void)
{
	struct built b = build(118), in = {.size = 0};

	put(&in, "\xf0\xff\xff\xff\0\0\0\0\0\0\0\0\0\0\0", 16);
	CHECK_INT(go_table_search(in.bytes, in.size), in.size);
	put(&in, b.bytes, b.size);
	CHECK_INT(go_table_search(in.bytes, in.size), 16);
	CHECK_INT(go_table_search(in.bytes, 20), 20);
	CHECK_INT(go_table_search(in.bytes, 0), 0);
}

static void check_refused(const struct built *b)
{
	struct go_table table;

	CHECK(!go_table_init(&table, b->bytes, b->size, 0));
}

static void malformed(void)
{
	static const uint64_t bad[] = {0, 1u << 20, UINT64_MAX, UINT64_MAX / 8,
				       UINT64_C(1) << 61};
	struct built b = build(120);

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		b = build(120);
		set_word(&b, 8, bad[i]); /* the number of functions */
		check_refused(&b);
		b = build_old();
		set_word(&b, 8, bad[i]);
		check_refused(&b);
	}
	for (size_t at = 32; at < 72; at += 8) {
		b = build(120);
		set_word(&b, at, b.size);
		check_refused(&b);
		set_word(&b, at, UINT64_MAX);
		check_refused(&b);
	}
	b = build(120);
	b.bytes[7] = 4; /* word size 4 */
	check_refused(&b);
	b = build(120);
	b.bytes[0] = 0xf2;
	check_refused(&b);
}

/* Looks up everything: it must end and read no byte outside of the table. */
static void exercise(const struct built *b)
{
	uint8_t *copy = malloc(b->size + !b->size);
	struct go_function function;
	struct go_table table;
	const char *file;

	REQUIRE(copy);
	memcpy(copy, b->bytes, b->size);
	if (go_table_init(&table, copy, b->size, 0)) {
		for (uint64_t at = TEXT - 8; at < TEXT + 0x80; at += 8) {
			struct go_values depths;
			unsigned count = 0;

			(void)go_table_next(&table, at);
			if (!go_table_find(&table, at, &function))
				continue;
			CHECK(function.start <= at && at < function.end);
			(void)strlen(go_table_name(&table, &function));
			(void)go_table_name_is(&table, &function, "main.main");
			depths = go_values(&table, &function, function.depths);
			while (go_values_next(&depths, &function)) {
				CHECK(depths.start < depths.end &&
				      depths.end <= function.end);
				count++;
			}
			CHECK(count <= b->size);
			(void)go_table_line(&table, &function, at, &file);
			if (file)
				(void)strlen(file);
		}
	}
	free(copy);
}

static void damaged(void)
{
	for (int i = 0; i < 20000; i++) {
		static const unsigned known[] = {116, 118, 120};
		unsigned kind = random_below(4);
		struct built b = kind < 3 ? build(known[kind]) : build_old();

		random_damage(b.bytes, b.size, 1 + random_below(6));
		if (random_below(4) == 0)
			b.size = random_below((uint32_t)b.size + 1);
		exercise(&b);
	}
}

int main(void)
{
	RUN(versions);
	RUN(relocated);
	RUN(searched);
	RUN(malformed);
	RUN(damaged);
	return check_done();
}
