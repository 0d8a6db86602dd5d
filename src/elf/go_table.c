// SPDX-License-Identifier: Apache-2.0
#include "elf/go_table.h"

#include "arch/arch.h"

#include <elf.h>
#include <string.h>

#include "util/bisect.h"

#define GO_2   0xfffffffbu
#define GO_16  0xfffffffau
#define GO_18  0xfffffff0u
#define GO_20  0xfffffff1u

#define WORD   8u /* bytes of a word of the machine */
#define HEADER 8u /* bytes: magic, two zeros, instruction size, word size */

/* The linker aligns the header to this many bytes. */
#define ALIGNMENT 8u

/* Bounds on a name and on the values of a function. Real ones are smaller. */
#define NAME_MAX_BYTES 65536u
#define VALUES_MAX     (1u << 17)

/* Bits of a function's flags, since Go 1.17. */
#define WRITES_SP 2u

/* Read a little-endian number of 1, 4 or 8 bytes. False if it is outside of the data. */
static bool number(const struct go_table *table, uint64_t at, unsigned size_bytes,
		   uint64_t *ret)
{
	*ret = 0;
	if (at > table->size_bytes || size_bytes > table->size_bytes - at)
		return false;
	memcpy(ret, table->data + at, size_bytes);
	return true;
}

/* Word number `i` of the header; UINT64_MAX if it is outside of the data. */
static uint64_t header_word(const struct go_table *table, unsigned i)
{
	uint64_t word;

	return number(table, HEADER + i * WORD, WORD, &word) ? word : UINT64_MAX;
}

/* The string at `base` + `offset`; NULL if it does not end within the data. */
static const char *string_at(const struct go_table *table, uint64_t base, uint64_t offset)
{
	uint64_t at = base + offset, left;

	if (at < base || at >= table->size_bytes)
		return NULL;
	left = table->size_bytes - at;
	if (!memchr(table->data + at, 0, left < NAME_MAX_BYTES ? left : NAME_MAX_BYTES))
		return NULL;
	return (const char *)table->data + at;
}

/* --- the header ------------------------------------------------------------------- */

static unsigned version_of(const struct go_table *table)
{
	uint64_t magic, rest;

	/* The size of the shortest instruction, and word size 8. */
	if (!number(table, 0, 4, &magic) || !number(table, 4, 4, &rest) ||
	    rest != (8u << 24 | (uint32_t)arch.code_alignment << 16))
		return 0;
	switch (magic) {
	case GO_2:
		return 12;
	case GO_16:
		return 116;
	case GO_18:
		return 118;
	case GO_20:
		return 120;
	}
	return 0;
}

size_t go_table_search(const void *data, size_t size_bytes)
{
	for (size_t at = 0; at + HEADER <= size_bytes; at += ALIGNMENT) {
		const struct go_table table = {.data = (const uint8_t *)data + at,
					       .size_bytes = size_bytes - at};

		if (version_of(&table))
			return at;
	}
	return size_bytes;
}

uint64_t go_table_relocated(const void *relocations, size_t size_bytes, uint64_t address)
{
	Elf64_Rela rela;

	for (size_t at = 0; sizeof(rela) <= size_bytes - at; at += sizeof(rela)) {
		memcpy(&rela, (const char *)relocations + at, sizeof(rela));
		if (rela.r_offset == address &&
		    arch_relocation(ELF64_R_TYPE(rela.r_info)) ==
			    ARCH_RELOCATION_RELATIVE)
			return (uint64_t)rela.r_addend;
	}
	return 0;
}

/* Bytes of each field of an entry in the list of functions. The fields are the
 * function's start and the offset of its details. */
static unsigned field_bytes(const struct go_table *table)
{
	return table->version >= 118 ? 4 : WORD;
}

/* Before Go 1.16 all offsets count from the beginning of the table. */
static bool lay_out_old(struct go_table *table)
{
	uint64_t end;

	table->functions = HEADER + WORD;
	if (table->count > table->size_bytes / (2 * WORD))
		return false;
	end = table->functions + (2 * table->count + 1) * WORD;
	return number(table, end, 4, &table->files) &&
	       number(table, table->files, 4, &table->file_count);
}

static void lay_out(struct go_table *table)
{
	/* These words follow the numbers of functions and files and, since 1.18, the
	 * text address. */
	unsigned at = table->version >= 118 ? 3 : 2;

	table->names = header_word(table, at);
	table->units = header_word(table, at + 1);
	table->files = header_word(table, at + 2);
	table->values = header_word(table, at + 3);
	table->functions = table->details = header_word(table, at + 4);
}

/* Start of function number `i`. For `i` = `count` it is the end of the last function. */
static uint64_t start_of(const struct go_table *table, uint64_t i)
{
	unsigned size = field_bytes(table);
	uint64_t start;

	(void)number(table, table->functions + 2 * i * size, size, &start);
	return table->text + start;
}

static bool is_sorted(const struct go_table *table)
{
	for (uint64_t i = 0; i < table->count; i++)
		if (start_of(table, i) > start_of(table, i + 1))
			return false;
	return true;
}

bool go_table_init(struct go_table *table, const void *data, size_t size_bytes,
		   uint64_t text)
{
	uint64_t size;

	*table = (struct go_table){.data = data, .size_bytes = size_bytes};
	table->version = version_of(table);
	if (!table->version)
		return false;
	table->count = header_word(table, 0);
	if (table->version >= 118)
		table->text = text ? text : header_word(table, 2);
	if (table->version < 116) {
		if (!lay_out_old(table))
			return false;
	} else {
		lay_out(table);
	}
	size = size_bytes > table->functions ? size_bytes - table->functions : 0;
	return table->count && table->names < size_bytes && table->units < size_bytes &&
	       table->files < size_bytes && table->values < size_bytes &&
	       table->count <= size / (2 * field_bytes(table)) &&
	       /* The list also holds the end of the last function. */
	       (2 * table->count + 1) * field_bytes(table) <= size && is_sorted(table);
}

/* --- functions -------------------------------------------------------------------- */

/* The number of functions that begin at or below `address`. */
static uint64_t count_up_to(const struct go_table *table, uint64_t address)
{
	return bisect(table->count, i, start_of(table, i) <= address);
}

uint64_t go_table_next(const struct go_table *table, uint64_t address)
{
	uint64_t i = count_up_to(table, address);

	return i < table->count ? start_of(table, i) : UINT64_MAX;
}

/* Read a function's details: start, name, arguments, deferreturn, depths, files, lines,
 * count of other values, unit (since 1.16), first line (since 1.20), number, flags. */
static bool read_details(const struct go_table *table, uint64_t at,
			 struct go_function *ret)
{
	uint64_t start_bytes = field_bytes(table), flags;
	unsigned fields = 7 + (table->version >= 116) + (table->version >= 120);

	if (!number(table, at + start_bytes, 4, &ret->name) ||
	    !number(table, at + start_bytes + 12, 4, &ret->depths) ||
	    !number(table, at + start_bytes + 16, 4, &ret->file_numbers) ||
	    !number(table, at + start_bytes + 20, 4, &ret->lines) ||
	    !number(table, at + start_bytes + 28, 4, &ret->unit) ||
	    !number(table, at + start_bytes + 4 * fields + 1, 1, &flags))
		return false;
	ret->writes_sp = flags & WRITES_SP;
	return true;
}

bool go_table_find(const struct go_table *table, uint64_t address,
		   struct go_function *ret)
{
	uint64_t i = count_up_to(table, address), offset, at;
	unsigned size = field_bytes(table);

	if (!i)
		return false;
	ret->start = start_of(table, i - 1);
	ret->end = start_of(table, i);
	if (address < ret->start || address >= ret->end ||
	    !number(table, table->functions + (2 * i - 1) * size, size, &offset))
		return false;
	at = table->details + offset;
	return at >= offset && at < table->size_bytes && read_details(table, at, ret);
}

const char *go_table_name(const struct go_table *table,
			  const struct go_function *function)
{
	const char *name = string_at(table, table->names, function->name);

	return name ? name : "";
}

bool go_table_name_is(const struct go_table *table, const struct go_function *function,
		      const char *name)
{
	uint64_t at = table->names + function->name;
	size_t size = strlen(name) + 1;

	return at >= function->name && at < table->size_bytes &&
	       size <= table->size_bytes - at && !memcmp(table->data + at, name, size);
}

/* --- values ----------------------------------------------------------------------- */

struct go_values go_values(const struct go_table *table,
			   const struct go_function *function, uint64_t offset)
{
	struct go_values values = {
		.start = function->start, .end = function->start, .value = -1};
	uint64_t at = table->values + offset;

	if (offset && at >= offset && at < table->size_bytes) {
		values.at = table->data + at;
		values.behind = table->data + table->size_bytes;
	}
	return values;
}

/* Read a number of up to 32 bits, with 7 bits per byte. False if it does not end. */
static bool varint(struct go_values *values, uint32_t *ret)
{
	*ret = 0;
	for (unsigned shift = 0; shift < 35 && values->at < values->behind; shift += 7) {
		uint8_t byte = *values->at++;

		*ret |= (uint32_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

bool go_values_next(struct go_values *values, const struct go_function *function)
{
	uint32_t change, bytes;

	if (values->end >= function->end || values->count == VALUES_MAX ||
	    !varint(values, &change) || !varint(values, &bytes) || !bytes)
		return false;
	/* A change of 0 ends the list, except in the first entry. */
	if (!change && values->count)
		return false;
	change = change & 1 ? ~(change >> 1) : change >> 1;
	values->value = (int32_t)((uint32_t)values->value + change);
	values->start = values->end;
	values->end += bytes;
	if (values->end > function->end)
		values->end = function->end;
	values->count++;
	return true;
}

/* Get the value at `address`. False: no value is known there. */
static bool value_at(const struct go_table *table, const struct go_function *function,
		     uint64_t offset, uint64_t address, int32_t *ret)
{
	struct go_values values = go_values(table, function, offset);

	while (go_values_next(&values, function)) {
		if (address < values.end) {
			*ret = values.value;
			return true;
		}
	}
	return false;
}

static const char *file_of(const struct go_table *table,
			   const struct go_function *function, uint64_t number_in_unit)
{
	uint64_t offset;

	if (table->version < 116) {
		if (!number_in_unit || number_in_unit >= table->file_count ||
		    !number(table, table->files + 4 * number_in_unit, 4, &offset))
			return NULL;
		return string_at(table, 0, offset);
	}
	if (!number(table, table->units + 4 * (function->unit + number_in_unit), 4,
		    &offset) ||
	    offset == UINT32_MAX)
		return NULL;
	return string_at(table, table->files, offset);
}

unsigned go_table_line(const struct go_table *table, const struct go_function *function,
		       uint64_t address, const char **ret_file)
{
	int32_t file, line;

	*ret_file = NULL;
	if (!value_at(table, function, function->lines, address, &line) || line <= 0)
		return 0;
	if (value_at(table, function, function->file_numbers, address, &file) &&
	    file >= 0)
		*ret_file = file_of(table, function, (uint64_t)file);
	return (unsigned)line;
}
