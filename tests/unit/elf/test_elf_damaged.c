// SPDX-License-Identifier: Apache-2.0
/* ELF files that are malformed, by intent and at random, and files that are not ELF. */
#include "check.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>

#include "elf/elf.h"
#include "unit/elf/elf_builder.h"
#include "unit/elf/elf_copies.h"
#include "unit/random.h"
#include "util/cleanup.h"

/* --- files that are refused --------------------------------------------------------- */

static void check_refused(const char *path, enum error_code code, const char *word)
{
	struct elf_file *file = NULL;
	_cleanup_(error_destroyp) struct error *err = elf_file_open(path, &file);

	REQUIRE(err);
	CHECK_INT(err->code, code);
	CHECK_CONTAINS(err->message, path);
	CHECK_CONTAINS(err->message, word);
}

/* memtrace must not even open a FIFO: opening it would wake a waiting writer. */
static void nothing_else_is_opened(void)
{
	char *path = temp_path("fifo");
	int status;
	pid_t writer;

	REQUIRE(mkfifo(path, 0600) == 0);
	writer = fork();
	REQUIRE(writer >= 0);
	if (!writer)
		_exit(open(path, O_WRONLY) < 0);
	/* It waits in open(), or soon will. */
	for (int i = 0; i < 50; i++) {
		check_refused(path, ERROR_MALFORMED, "not a regular file");
		usleep(10000);
	}
	CHECK_INT(waitpid(writer, &status, WNOHANG), 0);
	kill(writer, SIGKILL);
	waitpid(writer, &status, 0);
	unlink(path);
}

static void other_files(void)
{
	char *path = temp_path("file");
	Elf32_Ehdr narrow = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32,
					 ELFDATA2LSB, EV_CURRENT},
			     .e_type = ET_EXEC,
			     .e_machine = EM_386,
			     .e_version = EV_CURRENT};
	static struct built_image image;
	Elf64_Ehdr header;

	check_refused(path, ERROR_NOT_FOUND, "No such file");
	check_refused("/proc", ERROR_MALFORMED, "not a regular file");
	/* Opening a FIFO without a writer would block. */
	REQUIRE(mkfifo(path, 0600) == 0);
	check_refused(path, ERROR_MALFORMED, "not a regular file");
	unlink(path);
	built_write(path, "", 0);
	check_refused(path, ERROR_MALFORMED, "not an ELF file");
	built_write(path, "#!/bin/sh\nexit 0\n# and so on\n", 29);
	check_refused(path, ERROR_MALFORMED, "not an ELF file");
	built_write(path, &narrow, sizeof(narrow));
	check_refused(path, ERROR_UNSUPPORTED, "32-bit");
	built_write(path, &narrow, EI_NIDENT);
	check_refused(path, ERROR_UNSUPPORTED, "32-bit");

	built_make(&image, NULL, 0);
	memcpy(&header, image.bytes, sizeof(header));
#define REFUSED_WITH(field, value, code, word)                                           \
	do {                                                                             \
		Elf64_Ehdr h_ = header;                                                  \
		h_.field = (value);                                                      \
		memcpy(image.bytes, &h_, sizeof(h_));                                    \
		built_write(path, image.bytes, image.size);                              \
		check_refused(path, code, word);                                         \
	} while (0)
	REFUSED_WITH(e_machine, EM_SPARCV9, ERROR_UNSUPPORTED, "another machine");
	REFUSED_WITH(e_ident[EI_DATA], ELFDATA2MSB, ERROR_UNSUPPORTED, "another machine");
	REFUSED_WITH(e_ident[EI_CLASS], 7, ERROR_MALFORMED, "class");
	REFUSED_WITH(e_type, ET_REL, ERROR_UNSUPPORTED, "neither");
	REFUSED_WITH(e_type, ET_CORE, ERROR_UNSUPPORTED, "neither");
	REFUSED_WITH(e_phnum, 0, ERROR_MALFORMED, "program headers");
	REFUSED_WITH(e_phnum, PN_XNUM, ERROR_MALFORMED, "program headers");
	REFUSED_WITH(e_phentsize, 1, ERROR_MALFORMED, "program headers");
	REFUSED_WITH(e_phoff, UINT64_MAX - 8, ERROR_MALFORMED, "program headers");
	REFUSED_WITH(e_shentsize, 1, ERROR_MALFORMED, "section headers");
#undef REFUSED_WITH

	/* The number of sections is in the first section header: 2^40. */
	Elf64_Shdr first = {.sh_size = (uint64_t)1 << 40};
	Elf64_Ehdr many = header;

	many.e_shnum = 0;
	memcpy(image.bytes, &many, sizeof(many));
	memcpy(image.bytes + header.e_shoff, &first, sizeof(first));
	built_write(path, image.bytes, image.size);
	check_refused(path, ERROR_MALFORMED, "number of sections");
	remove_temp(path);
}

/* Damage to one section header: the search fails with a message. */
static void damaged_tables(void)
{
	static const struct built_symbol symbols[] = {
		{"malloc", STB_GLOBAL, STT_FUNC, 1, 0x200, false},
		{"free", STB_GLOBAL, STT_FUNC, 0, 0x210, true},
	};
	static const struct {
		int section;
		size_t field, size;
		uint64_t value;
	} damage[] = {
#define FIELD(f) offsetof(Elf64_Shdr, f), sizeof(((Elf64_Shdr *)0)->f)
		{BUILT_DYNSYM, FIELD(sh_entsize), 0},
		{BUILT_DYNSYM, FIELD(sh_entsize), 16},
		{BUILT_DYNSYM, FIELD(sh_size), UINT64_MAX},
		{BUILT_DYNSYM, FIELD(sh_size), (uint64_t)1 << 40},
		{BUILT_DYNSYM, FIELD(sh_offset), UINT64_MAX - 4},
		{BUILT_DYNSYM, FIELD(sh_link), 77},
		{BUILT_VERSYM, FIELD(sh_offset), 1 << 20},
		{BUILT_STRTAB, FIELD(sh_size), (uint64_t)1 << 62},
		{BUILT_STRTAB, FIELD(sh_type), SHT_NOBITS},
		{BUILT_SYMTAB, FIELD(sh_size), 1 << 20},
#undef FIELD
	};
	static const char *const names[] = {"malloc", "free"};
	static struct built_image image;
	char *path = temp_path("damaged");
	struct elf_symbol found[2];

	for (size_t i = 0; i < COUNT(damage); i++) {
		_cleanup_(elf_file_closep) struct elf_file *file = NULL;
		Elf64_Ehdr header;

		built_make(&image, symbols, COUNT(symbols));
		memcpy(&header, image.bytes, sizeof(header));
		memcpy(image.bytes + header.e_shoff +
			       (size_t)damage[i].section * sizeof(Elf64_Shdr) +
			       damage[i].field,
		       &damage[i].value, damage[i].size);
		built_write(path, image.bytes, image.size);
		REQUIRE(!elf_file_open(path, &file));

		_cleanup_(error_destroyp) struct error *err =
			elf_file_find_functions(file, names, 2, found);

		if (!err || err->code != ERROR_MALFORMED)
			CHECK_FAIL("damage %zu goes unnoticed", i);
		check_state.checks++;
	}

	/* Names that are cut off by the end of their table. */
	Elf64_Shdr strtab;
	Elf64_Ehdr header;

	for (uint64_t cut = 0; cut < 13; cut++) {
		_cleanup_(elf_file_closep) struct elf_file *file = NULL;

		built_make(&image, symbols, COUNT(symbols));
		memcpy(&header, image.bytes, sizeof(header));

		unsigned char *at = image.bytes + header.e_shoff +
				    (size_t)BUILT_STRTAB * sizeof(Elf64_Shdr);

		memcpy(&strtab, at, sizeof(strtab));
		/* "\0malloc\0free\0" */
		CHECK_INT(strtab.sh_size, 13);
		strtab.sh_size = cut;
		memcpy(at, &strtab, sizeof(strtab));
		built_write(path, image.bytes, image.size);
		REQUIRE(!elf_file_open(path, &file));

		_cleanup_(error_destroyp) struct error *err =
			elf_file_find_functions(file, names, 2, found);

		CHECK_INT(!err && found[0].name, cut >= 8);
		CHECK(err || !found[1].name);
	}
	remove_temp(path);
}

/* --- random damage ---------------------------------------------------------------- */

/* Uses all functions. True if the file was accepted. */
static bool exercise(const char *path)
{
	static const char *const names[] = {"malloc", "free", "calloc", "mmap", "cfree"};
	_cleanup_(elf_file_closep) struct elf_file *file = NULL;
	_cleanup_(error_destroyp) struct error *err = elf_file_open(path, &file);
	struct elf_symbol found[COUNT(names)];
	unsigned char bytes[64];

	if (err)
		return false;
	err = elf_file_find_functions(file, names, COUNT(names), found);
	for (size_t i = 0; !err && i < COUNT(names); i++)
		if (found[i].name)
			elf_file_read(file, found[i].file_offset, bytes, sizeof(bytes));
	if (elf_file_build_id(file))
		CHECK(strlen(elf_file_build_id(file)) <= 128);
	return !err && found[0].name;
}

static unsigned char *read_libc(size_t *size)
{
	void *handle;
	struct link_map *map = libc_in_memory(&handle);
	int fd = open(map->l_name, O_RDONLY | O_CLOEXEC);
	struct stat st;

	REQUIRE(fd >= 0 && fstat(fd, &st) == 0);
	*size = (size_t)st.st_size;

	unsigned char *bytes = malloc(*size);

	REQUIRE(bytes && read(fd, bytes, *size) == st.st_size);
	close(fd);
	dlclose(handle);
	return bytes;
}

static void truncated_copies(void)
{
	size_t size;
	unsigned char *bytes = read_libc(&size);
	char *path = temp_path("libc-cut");
	uint64_t random = 0x6d656d7472616365;
	unsigned good = 0;

	built_write(path, bytes, size);
	CHECK(exercise(path));
	/* Truncated anywhere. */
	for (int i = 0; i < 300; i++) {
		built_write(path, bytes, (size_t)(random_next(&random) % size));
		good += exercise(path);
	}
	for (off_t length = 1200; length >= 0; length -= 7) {
		REQUIRE(truncate(path, length) == 0);
		good += exercise(path);
	}
	/* The section headers are at the end: every truncated file lacks them. */
	CHECK_INT(good, 0);
	free(bytes);
	remove_temp(path);
}

static void flipped_bytes(void)
{
	size_t size;
	unsigned char *bytes = read_libc(&size);
	char *path = temp_path("libc-flipped");
	uint64_t random = 0x0123456789abcdef;
	unsigned good = 0;
	Elf64_Ehdr header;

	memcpy(&header, bytes, sizeof(header));
	built_write(path, bytes, size);

	int fd = open(path, O_WRONLY | O_CLOEXEC);

	REQUIRE(fd >= 0 && header.e_shoff < size);
	for (int round = 0; round < 1200; round++) {
		off_t at[8];

		for (size_t i = 0; i < COUNT(at); i++) {
			uint64_t r = random_next(&random);
			unsigned char byte = (unsigned char)(r >> 40);

			/* In the headers, the section headers, the dynamic tables,
			 * anywhere. */
			switch (round % 4) {
			case 0:
				at[i] = (off_t)(r % 1024);
				break;
			case 1:
				at[i] = (off_t)(header.e_shoff +
						r % (size - header.e_shoff));
				break;
			case 2:
				at[i] = (off_t)(r % (size / 8));
				break;
			default:
				at[i] = (off_t)(r % size);
			}
			REQUIRE(pwrite(fd, &byte, 1, at[i]) == 1);
		}
		good += exercise(path);
		for (size_t i = 0; i < COUNT(at); i++)
			REQUIRE(pwrite(fd, bytes + at[i], 1, at[i]) == 1);
	}
	/* Most damage is in data that is not read. In the headers it is noticed. */
	CHECK(good > 100 && good < 1200);
	CHECK(exercise(path));
	close(fd);
	free(bytes);
	remove_temp(path);
}

/* The same for a file that consists of headers and tables. */
static void flipped_tables(void)
{
	static const struct built_symbol symbols[] = {
		{"malloc", STB_GLOBAL, STT_FUNC, 1, 0x200, false},
		{"free", STB_GLOBAL, STT_FUNC, 0x8001, 0x210, false},
		{"calloc", STB_GLOBAL, STT_FUNC, 0, 0x220, true},
		{"mmap@@V", STB_GLOBAL, STT_FUNC, 0, 0x220, true},
	};
	static struct built_image image, damaged;
	char *path = temp_path("flipped");
	uint64_t random = 0xfedcba9876543210;
	unsigned good = 0;

	built_make(&image, symbols, COUNT(symbols));
	for (int round = 0; round < 3000; round++) {
		damaged = image;
		for (int i = 0; i <= round % 4; i++) {
			uint64_t r = random_next(&random);
			/* After the code: the note, the tables and the section
			 * headers. */
			size_t skip = 0x800, at = r % (image.size - skip + 0xb0);

			at = at < 0xb0 ? at : at - 0xb0 + skip;
			damaged.bytes[at] = (unsigned char)(r >> 40);
		}
		built_write(path, damaged.bytes, damaged.size);
		good += exercise(path);
	}
	CHECK(good > 100 && good < 2900);
	remove_temp(path);
}

int main(void)
{
	RUN(nothing_else_is_opened);
	RUN(other_files);
	RUN(damaged_tables);
	RUN(truncated_copies);
	RUN(flipped_bytes);
	RUN(flipped_tables);
	return check_done();
}
