/* SPDX-License-Identifier: Apache-2.0 */
/* What elf.c (the file) and elf_symbols.c (its symbol tables) share. */
#ifndef TARGET_ELF_FILE_H
#define TARGET_ELF_FILE_H

#include <libelf.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

#define ELF_BUILD_ID_MAX_BYTES 64u

/* An executable PT_LOAD, cut to what the file holds. */
struct elf_segment {
	uint64_t address, file_offset, size_bytes;
};

struct elf_file {
	int fd;
	Elf *elf;
	uint64_t size_bytes;
	struct elf_segment *segments;
	size_t segment_count;
	char build_id[2 * ELF_BUILD_ID_MAX_BYTES + 1]; /* "" when there is none */
};

/* ERROR_MALFORMED, saying that `what` is wrong. */
struct error *elf_file_malformed(const char *what) __attribute__((warn_unused_result));

#endif
