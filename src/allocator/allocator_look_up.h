/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first half of allocators_scan(): list the functions to look for in one file, and
 * find their symbols. allocator_scan.c then groups them into allocators.
 */
#ifndef ALLOCATOR_ALLOCATOR_LOOK_UP_H
#define ALLOCATOR_ALLOCATOR_LOOK_UP_H

#include "allocator/allocator.h"
#include "process/debug_file.h"

/* A function that is looked for. */
struct wanted_row {
	const struct alloc_function *function;
	bool local_too; /* accept a local symbol: no other code uses the name */
};

/* Functions that identify the library that a file is or contains. */
enum marker {
	MARKER_GLIBC,
	MARKER_GLIBC_STATIC, /* statically linked, at least its malloc */
	MARKER_MUSL,
	MARKER_CXX_RUNTIME, /* libstdc++ or libc++: their operators call malloc */
	MARKER_COUNT,
};

struct row_range {
	size_t begin, end; /* indexes of rows; `end` is excluded */
};

struct allocator_scan {
	const struct allocator_file *file;
	const struct allocator_options *options;
	struct elf_file *elf;
	struct debug_file debug;
	VEC(struct wanted_row) rows;
	struct elf_symbol *symbols; /* in the order of the rows, the markers, own_names */
	struct row_range families[ALLOC_FAMILIES_MAX];
	bool has_own;   /* local functions with plain names are the file's allocator */
	bool has_names; /* the file or its debug file has a .symtab */
	struct alloc_function *prefixed;
	struct allocators *ret;
};

static inline bool row_is_in(struct row_range range, size_t i)
{
	return i >= range.begin && i < range.end;
}

/* Free the scan. `file`, `options` and `ret` are borrowed and stay. */
void allocator_scan_deinit(struct allocator_scan *scan);

/* Fill `rows`, and `families` or, with --symbols-prefix, `prefixed`. False: out of
 * memory. */
bool allocator_scan_choose(struct allocator_scan *scan);

/*
 * Find the symbols of the rows and markers in `elf` and store them in `symbols`. A
 * symbol has no name if it was not found, or if it is a local symbol of an unrelated
 * function. Sets has_own.
 */
struct error *allocator_scan_look_up(struct allocator_scan *scan)
	__attribute__((warn_unused_result));

bool allocator_scan_has(const struct allocator_scan *scan, enum marker marker);

#endif
