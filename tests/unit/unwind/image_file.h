/* SPDX-License-Identifier: Apache-2.0 */
/* ELF files with handmade sections. */
#ifndef TESTS_UNIT_UNWIND_IMAGE_FILE_H
#define TESTS_UNIT_UNWIND_IMAGE_FILE_H

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "arch/arch.h"

struct image_section {
	const char *name;
	const void *bytes;
	size_t size;
};

#define IMAGE_CODE         0x1000u   /* address and offset of the code */
#define IMAGE_SECTION      0x100000u /* address and offset of the first section; */
#define IMAGE_SECTION_SIZE 0x100000u /* distance between sections */
#define IMAGE_SECTIONS     4

static inline void image_write(int fd, const void *bytes, size_t size, size_t at)
{
	REQUIRE(pwrite(fd, bytes, size, (off_t)at) == (ssize_t)size);
}

/* Writes a file to `path`, which is completed by mkstemp(3): `code_size` bytes of code
 * and `count` sections, at most IMAGE_SECTIONS. */
static inline void image_file(char *path, size_t code_size,
			      const struct image_section sections[], size_t count)
{
	const size_t names_at = IMAGE_SECTION + count * IMAGE_SECTION_SIZE,
		     headers_at = names_at + 256;
	char names[256] = ".shstrtab";
	size_t names_size = sizeof(".shstrtab");
	Elf64_Shdr headers[IMAGE_SECTIONS + 2] = {{0}};
	const Elf64_Ehdr header = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = arch.elf_machine,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(header),
		.e_phoff = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shoff = headers_at,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = (Elf64_Half)(count + 2),
		.e_shstrndx = (Elf64_Half)(count + 1),
	};
	const Elf64_Phdr segment = {.p_type = PT_LOAD,
				    .p_flags = PF_R | PF_X,
				    .p_offset = IMAGE_CODE,
				    .p_vaddr = IMAGE_CODE,
				    .p_filesz = code_size,
				    .p_memsz = code_size};
	int fd = mkstemp(path);

	REQUIRE(fd >= 0 && count <= IMAGE_SECTIONS);
	for (size_t i = 0; i < count; i++) {
		size_t at = IMAGE_SECTION + i * IMAGE_SECTION_SIZE;

		REQUIRE(sections[i].size <= IMAGE_SECTION_SIZE);
		headers[i + 1] = (Elf64_Shdr){.sh_name = (Elf64_Word)names_size,
					      .sh_type = SHT_PROGBITS,
					      .sh_flags = SHF_ALLOC,
					      .sh_addr = at,
					      .sh_offset = at,
					      .sh_size = sections[i].size,
					      .sh_addralign = 1};
		strcpy(names + names_size, sections[i].name);
		names_size += strlen(sections[i].name) + 1;
		image_write(fd, sections[i].bytes, sections[i].size, at);
	}
	headers[count + 1] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
					  .sh_offset = names_at,
					  .sh_size = names_size,
					  .sh_addralign = 1};
	image_write(fd, &header, sizeof(header), 0);
	image_write(fd, &segment, sizeof(segment), sizeof(header));
	image_write(fd, names, sizeof(names), names_at);
	image_write(fd, headers, (count + 2) * sizeof(*headers), headers_at);
	/* The code must fit before the first section. */
	REQUIRE(code_size <= IMAGE_SECTION - IMAGE_CODE);
	close(fd);
}

#endif
