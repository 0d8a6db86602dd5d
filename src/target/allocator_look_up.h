/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is looked for in one file, and which symbols are there: the part of
 * allocators_scan() before the functions that were found are made allocators.
 */
#ifndef TARGET_ALLOCATOR_LOOK_UP_H
#define TARGET_ALLOCATOR_LOOK_UP_H

#include "target/allocator.h"
#include "target/debug_file.h"

/* A function that is looked for. */
struct wanted_row {
	const struct alloc_function *function;
	bool local_too; /* a local symbol will do: the name is nobody else's */
};

/* Functions that say whose code a file is. */
enum marker {
	MARKER_GLIBC,
	MARKER_GLIBC_STATIC, /* linked with its malloc at least */
	MARKER_MUSL,
	MARKER_CXX_RUNTIME, /* libstdc++, libc++: their operators call malloc */
	MARKER_COUNT,
};

struct row_range {
	size_t begin, end; /* of rows */
};

struct allocator_scan {
	const struct allocator_file *file;
	const struct allocator_options *options;
	struct elf_file *elf;
	struct debug_file debug;
	VEC(struct wanted_row) rows;
	struct elf_symbol *symbols; /* of the rows, the markers, the own_names */
	struct row_range families[ALLOC_FAMILY_COUNT];
	bool has_own;   /* hidden functions with plain names are the file's allocator */
	bool has_names; /* all its functions have symbols that can be seen */
	struct alloc_function *prefixed;
	struct allocators *ret;
};

static inline bool row_is_in(struct row_range range, size_t i)
{
	return i >= range.begin && i < range.end;
}

/* What is borrowed (file, options, ret) stays. */
void allocator_scan_deinit(struct allocator_scan *scan);

/* Fill `rows`, and with them `families` or, with --symbols-prefix, `prefixed`; false when
 * memory runs out. */
bool allocator_scan_choose(struct allocator_scan *scan);

/*
 * Find the symbols of the rows and markers in `elf`, into `symbols`. Those without a name
 * were not found, or are local and nobody's who allocates. Sets has_own.
 */
struct error *allocator_scan_look_up(struct allocator_scan *scan)
	__attribute__((warn_unused_result));

bool allocator_scan_has(const struct allocator_scan *scan, enum marker marker);

#endif
