/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small ELF files for tests: one executable segment that contains the whole file, code
 * that waits for ever, and the symbol tables of the test. The files can be executed.
 */
#ifndef TESTS_UNIT_TARGET_ELF_BUILDER_H
#define TESTS_UNIT_TARGET_ELF_BUILDER_H

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

#define BUILT_BASE        0x400000u /* address of the file's first byte */
#define BUILT_CODE        0x100u    /* offset of the entry */
#define BUILT_SIZE        16        /* size of a function, bytes */
#define BUILT_SYMBOLS_MAX 95        /* symbols of a file */

struct built_symbol {
	const char *name;
	unsigned char bind, type;
	uint16_t version; /* in .gnu.version; only for dynamic symbols */
	uint32_t offset;  /* file offset of the function; 0: undefined */
	bool is_static;   /* in .symtab, otherwise in .dynsym */
};

struct built_image {
	unsigned char bytes[16384];
	size_t size;
};

#if defined(__x86_64__)
#define BUILT_MACHINE EM_X86_64
/* again: mov $34 (pause), %eax; syscall; jmp again */
#define BUILT_PAUSE                                                                      \
	{                                                                                \
		0xb8, 34, 0, 0, 0, 0x0f, 0x05, 0xeb, 0xf7                                \
	}
#elif defined(__aarch64__)
#define BUILT_MACHINE EM_AARCH64
/* again: x0..x4 = 0; mov x8, #73 (ppoll); svc #0; b again */
#define BUILT_PAUSE                                                                      \
	{                                                                                \
		0x00, 0x00, 0x80, 0xd2, 0x01, 0x00, 0x80, 0xd2, 0x02, 0x00, 0x80, 0xd2,  \
			0x03, 0x00, 0x80, 0xd2, 0x04, 0x00, 0x80, 0xd2, 0x28, 0x09,      \
			0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4, 0xf9, 0xff, 0xff, 0x17       \
	}
#endif

static inline size_t built_append(struct built_image *image, const void *bytes,
				  size_t size)
{
	size_t at = (image->size + 7) & ~(size_t)7;

	REQUIRE(at + size <= sizeof(image->bytes));
	memcpy(image->bytes + at, bytes, size);
	image->size = at + size;
	return at;
}

/* Section numbers of a generated file. */
enum {
	BUILT_DYNSYM = 1,
	BUILT_SYMTAB,
	BUILT_VERSYM,
	BUILT_STRTAB,
	BUILT_SECTIONS
};

static inline void built_make(struct built_image *image,
			      const struct built_symbol *symbols, size_t count)
{
	static const unsigned char code[] = BUILT_PAUSE;
	static const struct {
		Elf64_Nhdr header;
		char name[4];
		unsigned char id[8];
	} note = {{4, 8, NT_GNU_BUILD_ID}, "GNU", {0xde, 0xad, 0, 1, 2, 3, 0xbe, 0xef}};
	Elf64_Sym tables[2][BUILT_SYMBOLS_MAX + 1] = {0};
	size_t lengths[2] = {1, 1};
	uint16_t versions[BUILT_SYMBOLS_MAX + 1] = {0};
	char strings[4096] = "";
	size_t strings_size = 1;

	REQUIRE(count <= BUILT_SYMBOLS_MAX);
	for (size_t i = 0; i < count; i++) {
		const struct built_symbol *s = &symbols[i];
		int table = s->is_static ? 1 : 0;
		size_t size = strlen(s->name) + 1, n = lengths[table]++;

		REQUIRE(strings_size + size <= sizeof(strings));
		memcpy(strings + strings_size, s->name, size);
		if (!s->is_static)
			versions[n] = s->version;
		tables[table][n] = (Elf64_Sym){
			.st_name = (Elf64_Word)strings_size,
			.st_info = ELF64_ST_INFO(s->bind, s->type),
			.st_shndx = s->offset ? BUILT_STRTAB : SHN_UNDEF,
			.st_value = s->offset ? BUILT_BASE + s->offset : 0,
			.st_size = BUILT_SIZE,
		};
		strings_size += size;
	}

	*image = (struct built_image){.size = BUILT_CODE + 0x700};
	/* On x86-64 each byte is an instruction (cwtl), so a function may begin
	 * anywhere. */
	for (size_t i = BUILT_CODE; i < image->size; i++)
		image->bytes[i] = 0x98;
	memcpy(image->bytes + BUILT_CODE, code, sizeof(code));
#if defined(__x86_64__)
	/* Each function ends with a ret: others would be malformed. */
	for (size_t i = 0; i < count; i++)
		if (symbols[i].offset &&
		    symbols[i].offset <= BUILT_CODE + 0x700 - BUILT_SIZE)
			image->bytes[symbols[i].offset + BUILT_SIZE - 1] = 0xc3;
#endif

	size_t note_at = built_append(image, &note, sizeof(note));
	Elf64_Shdr sections[BUILT_SECTIONS] = {
		[BUILT_DYNSYM] = {.sh_type = SHT_DYNSYM,
				  .sh_offset =
					  built_append(image, tables[0],
						       lengths[0] * sizeof(Elf64_Sym)),
				  .sh_size = lengths[0] * sizeof(Elf64_Sym),
				  .sh_link = BUILT_STRTAB,
				  .sh_addralign = 8,
				  .sh_entsize = sizeof(Elf64_Sym)},
		[BUILT_SYMTAB] = {.sh_type = SHT_SYMTAB,
				  .sh_offset =
					  built_append(image, tables[1],
						       lengths[1] * sizeof(Elf64_Sym)),
				  .sh_size = lengths[1] * sizeof(Elf64_Sym),
				  .sh_link = BUILT_STRTAB,
				  .sh_addralign = 8,
				  .sh_entsize = sizeof(Elf64_Sym)},
		[BUILT_VERSYM] = {.sh_type = SHT_GNU_versym,
				  .sh_offset =
					  built_append(image, versions, lengths[0] * 2),
				  .sh_size = lengths[0] * 2,
				  .sh_link = BUILT_DYNSYM,
				  .sh_addralign = 2,
				  .sh_entsize = 2},
		[BUILT_STRTAB] = {.sh_type = SHT_STRTAB,
				  .sh_offset = built_append(image, strings, strings_size),
				  .sh_size = strings_size,
				  .sh_addralign = 1},
	};
	size_t sections_at = built_append(image, sections, sizeof(sections));

	Elf64_Ehdr header = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_EXEC,
		.e_machine = BUILT_MACHINE,
		.e_version = EV_CURRENT,
		.e_entry = BUILT_BASE + BUILT_CODE,
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_shoff = sections_at,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 2,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = BUILT_SECTIONS,
	};
	Elf64_Phdr segments[2] = {
		{.p_type = PT_LOAD,
		 .p_flags = PF_R | PF_X,
		 .p_vaddr = BUILT_BASE,
		 .p_filesz = image->size,
		 .p_memsz = image->size,
		 .p_align = 0x1000},
		{.p_type = PT_NOTE,
		 .p_flags = PF_R,
		 .p_offset = note_at,
		 .p_vaddr = BUILT_BASE + note_at,
		 .p_filesz = sizeof(note),
		 .p_memsz = sizeof(note),
		 .p_align = 4},
	};

	memcpy(image->bytes, &header, sizeof(header));
	memcpy(image->bytes + header.e_phoff, segments, sizeof(segments));
}

#define BUILT_BUILD_ID "dead00010203beef"

/* Writes `size` bytes to an executable file `path`. */
static inline void built_write(const char *path, const void *bytes, size_t size)
{
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0755);

	REQUIRE(fd >= 0);
	REQUIRE(write(fd, bytes, size) == (ssize_t)size);
	REQUIRE(close(fd) == 0);
}

static inline void built_file(const char *path, const struct built_symbol *symbols,
			      size_t count)
{
	static struct built_image image;

	built_make(&image, symbols, count);
	built_write(path, image.bytes, image.size);
}

#endif
