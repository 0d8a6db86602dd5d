/* SPDX-License-Identifier: Apache-2.0 */
/* ELF files with symbol tables of any size, made by the tests. */
#ifndef TESTS_LARGE_ELF_H
#define TESTS_LARGE_ELF_H

#include "check.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#define LARGE_ELF_TEXT    0x1000
#define LARGE_ELF_STRINGS 0x2000
#define LARGE_ELF_TABLE   ((off_t)1 << 25)
#define LARGE_ELF_NAME    "in_a_large_table"

enum large_elf_section {
	SECTION_NULL,
	LARGE_ELF_TEXT_SECTION,
	SECTION_SYMBOLS,
	SECTION_STRINGS,
	SECTION_NAMES,
	SECTIONS
};

/* A library with a page of code and a table of so many symbols, of which the second is
 * the function LARGE_ELF_NAME in that page. What is not written of the table is a hole.
 */
static inline int large_elf_make(const char *path, uint64_t symbols)
{
	static const char names[] = "\0.text\0.symtab\0.strtab\0.shstrtab";
	const Elf64_Ehdr header = {
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = 64,
		.e_shoff = 0x200,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = SECTIONS,
		.e_shstrndx = SECTION_NAMES};
	const Elf64_Phdr segment = {.p_type = PT_LOAD,
				    .p_flags = PF_R | PF_X,
				    .p_filesz = 2 * 4096,
				    .p_memsz = 2 * 4096,
				    .p_align = 4096};
	const Elf64_Shdr sections[SECTIONS] = {
		[LARGE_ELF_TEXT_SECTION] = {.sh_name = 1,
					    .sh_type = SHT_PROGBITS,
					    .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
					    .sh_addr = LARGE_ELF_TEXT,
					    .sh_offset = LARGE_ELF_TEXT,
					    .sh_size = 4096},
		[SECTION_SYMBOLS] = {.sh_name = 7,
				     .sh_type = SHT_SYMTAB,
				     .sh_offset = LARGE_ELF_TABLE,
				     .sh_size = symbols * sizeof(Elf64_Sym),
				     .sh_link = SECTION_STRINGS,
				     .sh_entsize = sizeof(Elf64_Sym)},
		[SECTION_STRINGS] = {.sh_name = 15,
				     .sh_type = SHT_STRTAB,
				     .sh_offset = LARGE_ELF_STRINGS,
				     .sh_size = LARGE_ELF_TABLE - LARGE_ELF_STRINGS},
		[SECTION_NAMES] = {.sh_name = 23,
				   .sh_type = SHT_STRTAB,
				   .sh_offset = 0x400,
				   .sh_size = sizeof(names)},
	};
	const Elf64_Sym function = {.st_name = 1,
				    .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				    .st_shndx = LARGE_ELF_TEXT_SECTION,
				    .st_value = LARGE_ELF_TEXT,
				    .st_size = 64};
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);

	REQUIRE(fd >= 0);
	REQUIRE(pwrite(fd, &header, sizeof(header), 0) == sizeof(header));
	REQUIRE(pwrite(fd, &segment, sizeof(segment), 64) == sizeof(segment));
	REQUIRE(pwrite(fd, sections, sizeof(sections), 0x200) == sizeof(sections));
	REQUIRE(pwrite(fd, names, sizeof(names), 0x400) == sizeof(names));
	REQUIRE(pwrite(fd, LARGE_ELF_NAME, sizeof(LARGE_ELF_NAME),
		       LARGE_ELF_STRINGS + 1) == sizeof(LARGE_ELF_NAME));
	REQUIRE(pwrite(fd, &function, sizeof(function),
		       LARGE_ELF_TABLE + (off_t)sizeof(function)) == sizeof(function));
	REQUIRE(!ftruncate(fd, LARGE_ELF_TABLE + (off_t)(symbols * sizeof(Elf64_Sym))));
	return fd;
}

#endif
