/* SPDX-License-Identifier: Apache-2.0 */
/* What elf.c (the file), elf_symbols.c (its symbol tables) and debug_file.c (a file that
 * has its symbols) share. */
#ifndef TARGET_ELF_FILE_H
#define TARGET_ELF_FILE_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/elf.h"
#include "util/error.h"

#define ELF_BUILD_ID_MAX_BYTES 64u

/* An executable PT_LOAD, cut to what the file holds. */
struct elf_segment {
	uint64_t address, file_offset, size_bytes;
};

/* Bytes that were read: code is read in small pieces, close to each other. */
#define ELF_PAGE_BYTES 4096u
#define ELF_PAGES      16u

struct elf_page {
	uint64_t number;   /* offset in the file / ELF_PAGE_BYTES */
	size_t size_bytes; /* less at the end of the file; 0: nothing was read */
	char bytes[ELF_PAGE_BYTES];
};

struct elf_file {
	int fd;
	Elf *elf;
	uint64_t size_bytes;
	struct elf_identity identity;
	struct elf_segment *segments;
	size_t segment_count;
	char build_id[2 * ELF_BUILD_ID_MAX_BYTES + 1]; /* "" when there is none */
	struct elf_file *debug; /* owned; its .symtab is searched last; or NULL */
	struct elf_page pages[ELF_PAGES]; /* by the page's number modulo ELF_PAGES */
};

/* ERROR_MALFORMED, saying that `what` is wrong. */
struct error *elf_file_malformed(const char *what) __attribute__((warn_unused_result));

/* Up to `size` bytes at `offset` of the file; the number read. */
size_t elf_file_read_at(struct elf_file *file, uint64_t offset, void *buffer,
			size_t size);

/* Take the build-id from `size` bytes of notes at `offset`, when one is there. */
void elf_file_parse_notes(struct elf_file *file, uint64_t offset, uint64_t size,
			  uint64_t align);

/* The contents of a section, NULL when they do not lie in the file. */
Elf_Data *elf_file_section_data(struct elf_file *file, Elf_Scn *scn);

#endif
