/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of split DWARF: a .dwo file, or a package of many of them, .dwp (DWARF 5,
 * sections 7.3.2 and 7.3.5; for DWARF 4 the GNU extension, "DebugFission" and
 * "DebugFissionDWP" in the wiki of GCC). Private to the readers of DWARF.
 *
 * Packages are read here, not by libdw: libdw supports them only since elfutils 0.192,
 * and then opens them beside the program by itself.
 */
#ifndef DWARF_SPLIT_FILE_H
#define DWARF_SPLIT_FILE_H

#include <stdbool.h>

#include "dwarf/debug_elf.h"
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
	bool shares_strings;         /* all units of a package share SPLIT_STR */
	struct split_bytes of[SPLIT_SECTIONS];
};

struct split_file;

/* Open the file `fd`. Takes ownership of `fd`, also on failure. ERROR_MALFORMED: it has
 * no split DWARF, or an invalid index, or would take more than `max_bytes` of memory. */
struct error *split_file_open(int fd, uint64_t max_bytes, struct split_file **ret)
	__attribute__((warn_unused_result));
void split_file_close(struct split_file *file);

/* The memory that the file takes, in bytes. */
uint64_t split_file_bytes(const struct split_file *file);

/* True if `fd` is the same file. */
bool split_file_is(const struct split_file *file, int fd);

/* True: a package; false: a .dwo file. */
bool split_file_is_package(const struct split_file *file);

/*
 * The sections of the unit with that id; false if the package does not have it. A .dwo
 * file has no index: *ret are its complete sections, and the caller must check the id.
 */
bool split_file_sections(const struct split_file *file, uint64_t id,
			 struct split_sections *ret);

#endif
