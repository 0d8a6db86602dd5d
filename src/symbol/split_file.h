/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of split DWARF: a .dwo file, or a package of many of them, .dwp (DWARF 5,
 * sections 7.3.2 and 7.3.5; for DWARF 4 the GNU extension, "DebugFission" and
 * "DebugFissionDWP" in the wiki of GCC). Private to the readers of DWARF.
 *
 * Packages are taken apart here, not by libdw: that knows of them only since elfutils
 * 0.192, and takes them from beside the file by itself then.
 */
#ifndef SYMBOL_SPLIT_FILE_H
#define SYMBOL_SPLIT_FILE_H

#include <stdbool.h>

#include "symbol/debug_elf.h"
#include "util/error.h"

struct split_bytes {
	const unsigned char *data; /* NULL: none */
	uint64_t size;
};

enum split_section {
	SPLIT_INFO,
	SPLIT_ABBREV,
	SPLIT_STR_OFFSETS,
	SPLIT_RNGLISTS,
	SPLIT_STR,
	SPLIT_SECTIONS /* how many */
};

const char *split_section_name(enum split_section section);

/* The parts of a file's sections that one unit uses; all but SPLIT_INFO and SPLIT_ABBREV
 * may be missing. Borrowed from the file. */
struct split_sections {
	const struct debug_elf *elf; /* the file */
	bool shares_strings;         /* SPLIT_STR is that of all units of a package */
	struct split_bytes of[SPLIT_SECTIONS];
};

struct split_file;

/* Look at the file `fd`, which is taken over, also after an error. Fails with
 * ERROR_MALFORMED where it has no split DWARF, or an index that cannot be, or would take
 * more than `max_bytes` of memory. */
struct error *split_file_open(int fd, uint64_t max_bytes, struct split_file **ret)
	__attribute__((warn_unused_result));
void split_file_close(struct split_file *file);

/* The memory that it takes. */
uint64_t split_file_bytes(const struct split_file *file);

/* True when `fd` is the same file. */
bool split_file_is(const struct split_file *file, int fd);

/* A package, not a .dwo file. */
bool split_file_is_package(const struct split_file *file);

/*
 * What the unit with that id uses; false when the package does not have it. A .dwo file
 * has no index: its sections are given as a whole, and the id is for the caller to find.
 */
bool split_file_sections(const struct split_file *file, uint64_t id,
			 struct split_sections *ret);

#endif
