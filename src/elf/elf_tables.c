// SPDX-License-Identifier: Apache-2.0
#include "elf/elf_tables.h"

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/cleanup.h"

/* Bounds: 11 million symbols. Real programs have less than a quarter. */
#define SYMBOLS_MAX_BYTES (UINT64_C(256) << 20)
#define STRINGS_MAX_BYTES (UINT64_C(512) << 20)

#define SECTIONS_MAX      (SHN_LORESERVE - 1)

static bool read_at(int fd, uint64_t offset, void *bytes, size_t size)
{
	return offset <= INT64_MAX &&
	       pread(fd, bytes, size, (off_t)offset) == (ssize_t)size;
}

/* Get the number of section headers. With extended numbering it is in the first of them
 * (gABI, "ELF Header"). */
static bool count_sections(int fd, const Elf64_Ehdr *header, size_t *ret)
{
	Elf64_Shdr first;

	*ret = header->e_shnum;
	if (*ret || !header->e_shoff)
		return true;
	if (!read_at(fd, header->e_shoff, &first, sizeof(first)) ||
	    first.sh_size > SECTIONS_MAX)
		return false;
	*ret = first.sh_size;
	return true;
}

/* Add `size` to *sum. False: the sum would exceed `limit`. */
static bool add(uint64_t *sum, uint64_t size, uint64_t limit)
{
	if (size > limit - *sum)
		return false;
	*sum += size;
	return true;
}

/* The number of a section's bytes within the file. libbcc and libelf refuse a section
 * that extends past the end. */
static uint64_t bytes_in(const Elf64_Shdr *section, uint64_t file_bytes)
{
	uint64_t room =
		section->sh_offset < file_bytes ? file_bytes - section->sh_offset : 0;

	return section->sh_size < room ? section->sh_size : room;
}

static bool are_moderate(const Elf64_Shdr *sections, size_t count, uint64_t file_bytes)
{
	uint64_t symbols = 0, strings = 0;

	for (size_t i = 0; i < count; i++) {
		const Elf64_Shdr *section = &sections[i];

		if (section->sh_type != SHT_SYMTAB && section->sh_type != SHT_DYNSYM)
			continue;
		if (!add(&symbols, bytes_in(section, file_bytes), SYMBOLS_MAX_BYTES))
			return false;
		if (section->sh_link < count &&
		    !add(&strings, bytes_in(&sections[section->sh_link], file_bytes),
			 STRINGS_MAX_BYTES))
			return false;
	}
	return true;
}

enum elf_table_sizes elf_tables_look(int fd)
{
	_cleanup_(freep) Elf64_Shdr *sections = NULL;
	Elf64_Ehdr header;
	struct stat st;
	size_t count;

	if (fstat(fd, &st) || !read_at(fd, 0, &header, sizeof(header)) ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    header.e_ident[EI_DATA] != ELFDATA2LSB ||
	    !count_sections(fd, &header, &count) || count > SECTIONS_MAX)
		return ELF_TABLES_UNKNOWN;
	if (!count)
		return ELF_TABLES_MODERATE;
	if (header.e_shentsize != sizeof(*sections))
		return ELF_TABLES_UNKNOWN;
	sections = malloc(count * sizeof(*sections));
	if (!sections ||
	    !read_at(fd, header.e_shoff, sections, count * sizeof(*sections)))
		return ELF_TABLES_UNKNOWN;
	return are_moderate(sections, count, (uint64_t)st.st_size) ? ELF_TABLES_MODERATE
								   : ELF_TABLES_TOO_LARGE;
}
