// SPDX-License-Identifier: Apache-2.0
/* The sizes of symbol tables in section headers. */
#include "check.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf/elf_tables.h"
#include "util/cleanup.h"

#define MIB     (UINT64_C(1) << 20)
#define COUNT   4
#define HEADERS 0x100

/* A file of four sections: null, a symbol table, its strings, and another one. */
struct file {
	Elf64_Ehdr header;
	Elf64_Shdr sections[COUNT];
};

static struct file ordinary(void)
{
	return (struct file){
		.header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB,
				       EV_CURRENT},
			   .e_type = ET_DYN,
			   .e_machine = EM_X86_64,
			   .e_shoff = HEADERS,
			   .e_shentsize = sizeof(Elf64_Shdr),
			   .e_shnum = COUNT},
		.sections = {[1] = {.sh_type = SHT_SYMTAB, .sh_link = 2, .sh_size = 2400},
			     [2] = {.sh_type = SHT_STRTAB, .sh_size = 1000}},
	};
}

/* Checks a file of `size_bytes` bytes, mostly a hole. */
static enum elf_table_sizes look_at(const struct file *file, uint64_t size_bytes)
{
	_cleanup_(closep) int fd = memfd_create("elf", MFD_CLOEXEC);

	REQUIRE(pwrite(fd, &file->header, sizeof(file->header), 0) ==
		sizeof(file->header));
	REQUIRE(pwrite(fd, file->sections, sizeof(file->sections), HEADERS) ==
		sizeof(file->sections));
	REQUIRE(!ftruncate(fd, (off_t)size_bytes));
	return elf_tables_look(fd);
}

static enum elf_table_sizes look(const struct file *file)
{
	return look_at(file, 4096 * MIB);
}

static void moderate(void)
{
	struct file file = ordinary();

	CHECK_INT(look(&file), ELF_TABLES_MODERATE);
	file.sections[1].sh_size = 256 * MIB;
	file.sections[2].sh_size = 512 * MIB;
	CHECK_INT(look(&file), ELF_TABLES_MODERATE);
	/* Other sections may have any size, and a link may be invalid. */
	file.sections[3] = (Elf64_Shdr){.sh_type = SHT_PROGBITS, .sh_size = UINT64_MAX};
	file.sections[1].sh_link = COUNT;
	CHECK_INT(look(&file), ELF_TABLES_MODERATE);
	file.header.e_shnum = 0;
	file.header.e_shoff = 0;
	CHECK_INT(look(&file), ELF_TABLES_MODERATE);
}

/* Tables beyond the end of the file are not read. */
static void as_far_as_they_are_in_the_file(void)
{
	struct file file = ordinary();

	file.sections[1].sh_size = UINT64_MAX;
	CHECK_INT(look_at(&file, 256 * MIB), ELF_TABLES_MODERATE);
	CHECK_INT(look_at(&file, 256 * MIB + 1), ELF_TABLES_TOO_LARGE);
	file.sections[1].sh_offset = 100 * MIB;
	CHECK_INT(look_at(&file, 356 * MIB), ELF_TABLES_MODERATE);
	CHECK_INT(look_at(&file, 356 * MIB + 1), ELF_TABLES_TOO_LARGE);
	file.sections[1].sh_offset = UINT64_MAX;
	CHECK_INT(look(&file), ELF_TABLES_MODERATE);
}

static void too_large(void)
{
	struct file file = ordinary();

	file.sections[1].sh_size = 256 * MIB + 1;
	CHECK_INT(look(&file), ELF_TABLES_TOO_LARGE);
	file.sections[1].sh_type = SHT_DYNSYM;
	CHECK_INT(look(&file), ELF_TABLES_TOO_LARGE);
	file.sections[1].sh_size = UINT64_MAX;
	CHECK_INT(look(&file), ELF_TABLES_TOO_LARGE);
	file = ordinary();
	file.sections[2].sh_size = 512 * MIB + 1;
	CHECK_INT(look(&file), ELF_TABLES_TOO_LARGE);
}

/* Two tables with the same strings, or the same symbols twice: both are read twice. */
static void sums(void)
{
	struct file file = ordinary();

	file.sections[1].sh_size = 200 * MIB;
	file.sections[3] = file.sections[1];
	CHECK_INT(look(&file), ELF_TABLES_TOO_LARGE);
	file.sections[1].sh_size = file.sections[3].sh_size = 100 * MIB;
	CHECK_INT(look(&file), ELF_TABLES_MODERATE);
	file.sections[2].sh_size = 300 * MIB;
	CHECK_INT(look(&file), ELF_TABLES_TOO_LARGE);
}

static void extended_numbering(void)
{
	struct file file = ordinary();

	file.header.e_shnum = 0;
	file.sections[0].sh_size = COUNT;
	CHECK_INT(look(&file), ELF_TABLES_MODERATE);
	file.sections[1].sh_size = 300 * MIB;
	CHECK_INT(look(&file), ELF_TABLES_TOO_LARGE);
	file.sections[0].sh_size = SHN_LORESERVE;
	CHECK_INT(look(&file), ELF_TABLES_UNKNOWN);
	file.sections[0].sh_size = UINT64_MAX;
	CHECK_INT(look(&file), ELF_TABLES_UNKNOWN);
}

static void unknown(void)
{
	struct file file = ordinary();

	file.header.e_ident[EI_CLASS] = ELFCLASS32;
	CHECK_INT(look(&file), ELF_TABLES_UNKNOWN);
	file = ordinary();
	file.header.e_ident[EI_DATA] = ELFDATA2MSB;
	CHECK_INT(look(&file), ELF_TABLES_UNKNOWN);
	file = ordinary();
	file.header.e_shentsize++;
	CHECK_INT(look(&file), ELF_TABLES_UNKNOWN);
	file = ordinary();
	file.header.e_shnum++;
	CHECK_INT(look_at(&file, HEADERS + sizeof(file.sections)), ELF_TABLES_UNKNOWN);
	file = ordinary();
	file.header.e_shoff = UINT64_MAX;
	CHECK_INT(look(&file), ELF_TABLES_UNKNOWN);
	CHECK_INT(elf_tables_look(-1), ELF_TABLES_UNKNOWN);
}

int main(void)
{
	RUN(moderate);
	RUN(as_far_as_they_are_in_the_file);
	RUN(too_large);
	RUN(sums);
	RUN(extended_numbering);
	RUN(unknown);
	return check_done();
}
