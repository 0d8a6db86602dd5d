/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ELF file that debug info is read from: a program, a library, a separate debug
 * file, a .dwo file. Any of them may belong to the target, so all are treated as
 * hostile: before libelf and libdw read them, the memory that these would allocate is
 * bounded.
 */
#ifndef DWARF_DEBUG_ELF_H
#define DWARF_DEBUG_ELF_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"
#include "util/strbuf.h"

#define BUILD_ID_MAX_BYTES 64

struct debug_elf {
	Elf *elf;
	uint64_t size_bytes;  /* of the file */
	int fd;               /* -1: in memory */
	void *memory;         /* the file's bytes, owned; NULL: not in memory */
	uint64_t debug_bytes; /* memory that reading all debug sections takes */
};

struct build_id {
	unsigned char bytes[BUILD_ID_MAX_BYTES];
	size_t size; /* 0: no build-id */
};

/* Append the build-id as lower-case hex. */
void build_id_append(struct strbuf *out, const struct build_id *id);

/*
 * Open the file `fd`. Takes ownership of `fd`, also on failure. The file is read, not
 * mapped: a mapped file that is truncated raises SIGBUS. Only files of 256 MiB and more
 * that only root can write are mapped. ERROR_MALFORMED also if the decompressed debug
 * sections exceed 16 GiB (no real file has that much) or debug_elf_max_bytes().
 */
struct error *debug_elf_open(int fd, struct debug_elf **ret)
	__attribute__((warn_unused_result));

/* The same for a file in `memory` (from malloc). Takes ownership of `memory`, also on
 * failure. */
struct error *debug_elf_from_memory(void *memory, size_t size, struct debug_elf **ret)
	__attribute__((warn_unused_result));
void debug_elf_close(struct debug_elf *image);

/* The most memory that debug info may take: a quarter of the machine's memory, and at
 * most 2 GiB. */
uint64_t debug_elf_max_bytes(void);

/* The section of that name, or NULL. */
Elf_Scn *debug_elf_section(const struct debug_elf *image, const char *name);

/* The address that the file gives to the code at `file_offset`; false if no executable
 * segment contains that offset. */
bool debug_elf_address(const struct debug_elf *image, uint64_t file_offset,
		       uint64_t *ret);

/* A part of a file that a process has mapped as code. */
struct debug_mapping {
	uint64_t size_bytes, file_offset;
};

/*
 * The address that the file gives to the code at `offset` of a mapping of the file or, if
 * `image` is its debug file, of the file that it belongs to. A debug file has lost the
 * offsets of segments (objcopy(1), --only-keep-debug): then the mapping must be as long
 * as an executable segment with its page ends. False if no segment fits.
 */
bool debug_elf_mapped_address(const struct debug_elf *image,
			      const struct debug_mapping *mapping, uint64_t offset,
			      uint64_t *ret);

/* The GNU build-id; size 0: it has none, or one that is too long. */
struct build_id debug_elf_build_id(const struct debug_elf *image);

/* The contents of a section as libelf has them: decompressed, once dwarf_begin_elf(3)
 * has read the file. NULL if the section is missing or empty. */
const Elf_Data *debug_elf_data(const struct debug_elf *image, const char *name);

/* The same before libdw has read the file: a compressed section is decompressed first.
 * Call it at most once for each section. */
const Elf_Data *debug_elf_whole_data(const struct debug_elf *image, const char *name);

#endif
