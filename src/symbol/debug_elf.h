/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ELF file that debug info is read from: a program, a library, a file of debug info
 * alone, a .dwo file. All of them may be the target's, so all are hostile: what libelf
 * and libdw would allocate is bounded before they look.
 */
#ifndef SYMBOL_DEBUG_ELF_H
#define SYMBOL_DEBUG_ELF_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

#define BUILD_ID_MAX_BYTES 64

struct debug_elf {
	Elf *elf;
	uint64_t size_bytes; /* of the file */
	int fd;              /* -1: in memory */
	void *memory;
	uint64_t debug_bytes; /* memory that reading all debug sections takes */
};

struct build_id {
	unsigned char bytes[BUILD_ID_MAX_BYTES];
	size_t size; /* 0: there is none */
};

/*
 * Look at the file `fd`, which is taken over, also after an error. It is read, since one
 * that is cut short while it is mapped raises SIGBUS; mapped are only files of 256 MiB
 * and more that none but root can write. ERROR_MALFORMED also for a file whose debug
 * sections are larger, once decompressed, than what a real one needs (16 GiB), or would
 * take more memory than debug_elf_max_bytes().
 */
struct error *debug_elf_open(int fd, struct debug_elf **ret)
	__attribute__((warn_unused_result));

/* The same for a file in `memory` (from malloc), which is taken over, also after an
 * error. */
struct error *debug_elf_from_memory(void *memory, size_t size, struct debug_elf **ret)
	__attribute__((warn_unused_result));
void debug_elf_close(struct debug_elf *image);

/* The most memory that debug info may take: 2 GiB, and at most a quarter of what the
 * machine has. */
uint64_t debug_elf_max_bytes(void);

/* The section of that name, or NULL. */
Elf_Scn *debug_elf_section(const struct debug_elf *image, const char *name);

/* The address that the file gives to the code at `file_offset`; false when none of its
 * executable segments has that. */
bool debug_elf_address(const struct debug_elf *image, uint64_t file_offset,
		       uint64_t *ret);

/* The GNU build-id (size 0: it has none, or one that is too long). */
struct build_id debug_elf_build_id(const struct debug_elf *image);

/* The contents of a section as libelf has them now: once dwarf_begin_elf(3) has looked,
 * decompressed. NULL when there are none. */
const Elf_Data *debug_elf_data(const struct debug_elf *image, const char *name);

/* The same before libdw has looked: what is compressed is decompressed first. To be asked
 * once of each section. */
const Elf_Data *debug_elf_whole_data(const struct debug_elf *image, const char *name);

#endif
