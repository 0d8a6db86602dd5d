/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Go's table of functions, section .gopclntab: names, lines, and how far the stack
 * pointer has moved at each pc. The Go runtime needs it, so stripped programs have it
 * too. The layouts are those of Go 1.2, 1.16, 1.18 and 1.20 (src/debug/gosym/pclntab.go,
 * and _func, pcHeader in src/runtime). All of it is hostile input.
 */
#ifndef TARGET_GO_TABLE_H
#define TARGET_GO_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sections that have a table, or begin with one; the second one is of programs that Go
 * itself links to be position-independent. Other linkers leave it somewhere in the third,
 * which is looked at where one of the marks is a section, too. */
#define GO_TABLE_SECTIONS                                                                \
	{                                                                                \
		".gopclntab", ".data.rel.ro.gopclntab", ".data.rel.ro"                   \
	}
#define GO_TABLE_SECTION_COUNT 3
#define GO_TABLE_MARKS                                                                   \
	{                                                                                \
		".go.buildinfo", ".note.go.buildid"                                      \
	}
#define GO_TABLE_MARK_COUNT 2

/* Where a table since Go 1.18 has the address that its functions count from. In a
 * position-independent program this word may be left to a relocation. */
#define GO_TABLE_TEXT_AT 24

struct go_table {
	const uint8_t *data; /* borrowed */
	size_t size_bytes;   /* up to the end of the section */
	unsigned version;    /* 12, 116, 118 or 120 */
	uint64_t text;       /* what functions count from; 0 before Go 1.18 */
	uint64_t count;      /* of functions */
	uint64_t file_count; /* Go 1.2: of files; later 0 */
	/* Offsets in the data. */
	uint64_t functions, details, names, units, files, values;
};

struct go_function {
	uint64_t start, end; /* in the file's address space; end is exclusive */
	uint64_t name;       /* for go_table_name() */
	uint64_t depths, file_numbers, lines; /* for go_values(); 0: none */
	uint64_t unit;                        /* of the function's files */
	bool writes_sp; /* other than by constants: its depths do not hold */
};

/* A value that holds from `start` up to `end`, and where the next one is. */
struct go_values {
	const uint8_t *at, *behind;
	uint64_t start, end;
	int32_t value;
	unsigned count; /* of values so far */
};

/* The offset of a table's header in a section; `size_bytes` when there is none. */
size_t go_table_search(const void *data, size_t size_bytes);

/* What a relocation of the bytes of .rela.dyn puts at `address`; 0: there is none. */
uint64_t go_table_relocated(const void *relocations, size_t size_bytes, uint64_t address);

/* Use the bytes from the header on. `text` is the address at GO_TABLE_TEXT_AT after
 * relocation, or 0 when the section itself has it. False: it is no table that is
 * understood. */
bool go_table_init(struct go_table *table, const void *data, size_t size_bytes,
		   uint64_t text);

/* The function around `address`. */
bool go_table_find(const struct go_table *table, uint64_t address,
		   struct go_function *ret);

/* The name; "" when it has none, or one longer than any real one. In the data. */
const char *go_table_name(const struct go_table *table,
			  const struct go_function *function);
/* Is it this name? Does not look further. */
bool go_table_name_is(const struct go_table *table, const struct go_function *function,
		      const char *name);

/* The lowest address above `address` at which a function begins, or UINT64_MAX. */
uint64_t go_table_next(const struct go_table *table, uint64_t address);

/* Begin with the values at `offset`, one of the function's. Then each go_values_next()
 * is the next one, until it is false: at the function's end, at what is malformed, or
 * after so many values as no real function has. */
struct go_values go_values(const struct go_table *table,
			   const struct go_function *function, uint64_t offset);
bool go_values_next(struct go_values *values, const struct go_function *function);

/* The line at `address` in the function, 0: unknown, and its file, NULL: unknown. */
unsigned go_table_line(const struct go_table *table, const struct go_function *function,
		       uint64_t address, const char **ret_file);

#endif
