/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Go's table of functions, section .gopclntab: names, lines, and how far the stack
 * pointer has moved at each pc. The Go runtime needs it, so stripped programs have it
 * too. The layouts are from Go 1.2, 1.16, 1.18 and 1.20 (src/debug/gosym/pclntab.go,
 * and _func, pcHeader in src/runtime). The whole table is hostile input.
 */
#ifndef ELF_GO_TABLE_H
#define ELF_GO_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sections that may contain the table. Go's linker writes the second one in position-
 * independent programs. Other linkers put the table somewhere within the third, which
 * is searched only if the program has one of the sections GO_TABLE_MARKS. */
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

/* Offset, in a table since Go 1.18, of the address to which the functions' starts are
 * relative. In a position-independent program a relocation may supply this word. */
#define GO_TABLE_TEXT_AT 24

struct go_table {
	const uint8_t *data; /* borrowed */
	size_t size_bytes;   /* up to the end of the section */
	unsigned version;    /* 12, 116, 118 or 120 */
	uint64_t text; /* address that functions' starts are relative to; 0 before Go 1.18
			*/
	uint64_t count;      /* number of functions */
	uint64_t file_count; /* Go 1.2: number of files; later 0 */
	/* Offsets in `data`. */
	uint64_t functions, details, names, units, files, values;
};

struct go_function {
	uint64_t start, end; /* in the file's address space; end is exclusive */
	uint64_t name;       /* for go_table_name() */
	uint64_t depths, file_numbers, lines; /* for go_values(); 0: none */
	uint64_t
		unit; /* where the function's file numbers start, in the table of units */
	/* The function changes the stack pointer by more than constants, so `depths` is
	 * wrong. */
	bool writes_sp;
};

/* An iterator: `value` holds from `start` up to `end`; the next entry is at `at`. */
struct go_values {
	const uint8_t *at, *behind;
	uint64_t start, end;
	int32_t value;
	unsigned count; /* values read so far */
};

/* The offset of a table's header in a section; `size_bytes` if the section has no
 * table. */
size_t go_table_search(const void *data, size_t size_bytes);

/* The value that a relocation in .rela.dyn's bytes stores at `address`; 0: no
 * relocation. */
uint64_t go_table_relocated(const void *relocations, size_t size_bytes, uint64_t address);

/* Initialize `table` from the bytes at the header. `text` is the word at
 * GO_TABLE_TEXT_AT after relocation; 0: use the word in the section. False: the table
 * is malformed or has an unknown format. */
bool go_table_init(struct go_table *table, const void *data, size_t size_bytes,
		   uint64_t text);

/* The function that contains `address`. */
bool go_table_find(const struct go_table *table, uint64_t address,
		   struct go_function *ret);

/* The function's name, borrowed from the data; "": none, or too long to be real. */
const char *go_table_name(const struct go_table *table,
			  const struct go_function *function);
/* Is this the function's name? Reads no more of the name than needed. */
bool go_table_name_is(const struct go_table *table, const struct go_function *function,
		      const char *name);

/* The lowest address above `address` where a function begins; UINT64_MAX: none. */
uint64_t go_table_next(const struct go_table *table, uint64_t address);

/* Start to iterate over the values at `offset` (depths, file_numbers or lines). Each
 * go_values_next() then reads one value. It returns false at the function's end, at
 * malformed data, or after more values than a real function has. */
struct go_values go_values(const struct go_table *table,
			   const struct go_function *function, uint64_t offset);
bool go_values_next(struct go_values *values, const struct go_function *function);

/* The line at `address` in the function (0: unknown) and its file (NULL: unknown). */
unsigned go_table_line(const struct go_table *table, const struct go_function *function,
		       uint64_t address, const char **ret_file);

#endif
