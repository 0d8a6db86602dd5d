// SPDX-License-Identifier: Apache-2.0
/* Functions of ELF files: of the libc in our memory, of generated files, of damaged
 * ones. */
#include "check.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>

#include "elf/elf.h"
#include "unit/random.h"
#include "unit/process/child.h"
#include "unit/elf/elf_builder.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct elf_file *, elf_file_close);

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static char *temp_path(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", child_tmpdir(), name);
	return path;
}

static void remove_temp(char *path)
{
	unlink(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
}

static struct link_map *libc_in_memory(void **handle)
{
	struct link_map *map = NULL;

	*handle = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	if (!*handle || dlinfo(*handle, RTLD_DI_LINKMAP, &map))
		check_skip("this test looks at a shared glibc");
	return map;
}

/* The functions in the file must be the code in this process. */
static void libc_agrees_with_memory(void)
{
	static const char *const names[] = {
		"malloc", "calloc",        "realloc", "reallocarray", "free",
		"mmap",   "mmap64",        "munmap",  "mremap",       "posix_memalign",
		"valloc", "aligned_alloc", "pvalloc", "memalign",     "no_such_function",
		"stdout", "strlen",
	};
	enum {
		NONE = 14,
		DATA,
		IFUNC
	};
	struct elf_symbol found[COUNT(names)];
	void *handle;
	struct link_map *map = libc_in_memory(&handle);
	_cleanup_(elf_file_closep) struct elf_file *file = NULL;

	REQUIRE(!elf_file_open(map->l_name, &file));
	REQUIRE(!elf_file_find_functions(file, names, COUNT(names), found));
	for (size_t i = 0; i < COUNT(names); i++) {
		unsigned char bytes[32];

		if (i == NONE || i == DATA) {
			CHECK(!found[i].name);
			continue;
		}
		REQUIRE(found[i].name);
		CHECK_STR(found[i].name, names[i]);
		if (i == IFUNC) {
			/* A libc for one kind of processor needs no indirect function. */
			printf("     strlen is of type %u\n", found[i].type);
			continue;
		}

		/* The handle finds libc's function, not the sanitizer's. */
		const unsigned char *code = dlsym(handle, names[i]);

		CHECK_INT(found[i].type, STT_FUNC);
		CHECK_INT(found[i].address, (uintptr_t)code - map->l_addr);
		CHECK(found[i].size_bytes > 0);
		REQUIRE(elf_file_read(file, found[i].file_offset, bytes, sizeof(bytes)) ==
			sizeof(bytes));
		CHECK(!memcmp(bytes, code, sizeof(bytes)));
	}
	CHECK(found[5].address == found[6].address);
	dlclose(handle);
}

/* dlsym() finds the default version, too, dlvsym() the hidden one. */
static void default_version_wins(void)
{
	static const char *const names[] = {"pthread_cond_wait"};
	void *handle;
	struct link_map *map = libc_in_memory(&handle);
	_cleanup_(elf_file_closep) struct elf_file *file = NULL;
	struct elf_symbol found[1];

	REQUIRE(!elf_file_open(map->l_name, &file));
	REQUIRE(!elf_file_find_functions(file, names, 1, found));

	uintptr_t code = (uintptr_t)dlsym(handle, names[0]);
	uintptr_t old = (uintptr_t)dlvsym(handle, names[0], "GLIBC_2.2.5");

	if (old && old != code) {
		CHECK_INT(found[0].address, code - map->l_addr);
		CHECK(found[0].address != old - map->l_addr);
	}
	dlclose(handle);
}

static struct elf_file *open_built(char *path, const struct built_symbol *symbols,
				   size_t count)
{
	struct elf_file *file;

	built_file(path, symbols, count);
	REQUIRE(!elf_file_open(path, &file));
	return file;
}

static bool is_among(const char *name, const char *const names[])
{
	for (; *names; names++)
		if (!strcmp(name, *names))
			return true;
	return false;
}

static void choice_of_symbols(void)
{
	static const struct built_symbol symbols[] = {
		{"hidden_first", STB_GLOBAL, STT_FUNC, 0x8002, 0x200, false},
		{"hidden_first", STB_GLOBAL, STT_FUNC, 3, 0x210, false},
		{"hidden_last", STB_GLOBAL, STT_FUNC, 3, 0x220, false},
		{"hidden_last", STB_GLOBAL, STT_FUNC, 0x8002, 0x230, false},
		{"hidden_only", STB_WEAK, STT_FUNC, 0x8002, 0x240, false},
		{"indirect", STB_GLOBAL, STT_GNU_IFUNC, 1, 0x250, false},
		{"undefined", STB_GLOBAL, STT_FUNC, 1, 0, false},
		{"object", STB_GLOBAL, STT_OBJECT, 1, 0x260, false},
		{"outside", STB_GLOBAL, STT_FUNC, 1, 0x900000, false},
		{"both", STB_GLOBAL, STT_FUNC, 0x8002, 0x270, false},
		{"both", STB_GLOBAL, STT_FUNC, 0, 0x280, true},
		{"local", STB_LOCAL, STT_FUNC, 0, 0x290, true},
		{"not_local", STB_LOCAL, STT_FUNC, 0, 0x2f0, true},
		{"not_local", STB_GLOBAL, STT_FUNC, 0, 0x300, true},
		{"not_local", STB_LOCAL, STT_FUNC, 0, 0x310, true},
		{"two", STB_LOCAL, STT_FUNC, 0, 0x330, true},
		{"two", STB_LOCAL, STT_FUNC, 0, 0x340, true},
		{"one_twice", STB_LOCAL, STT_FUNC, 0, 0x350, true},
		{"one_twice", STB_LOCAL, STT_FUNC, 0, 0x350, true},
		{"imported_too", STB_GLOBAL, STT_FUNC, 0, 0, false},
		{"imported_too", STB_LOCAL, STT_FUNC, 0, 0x360, true},
		{"a_name_that_is_longer_than_all", STB_GLOBAL, STT_FUNC, 0, 0x320, true},
		{"static_only", STB_GLOBAL, STT_FUNC, 0, 0x2a0, true},
		{"versioned@OLD", STB_GLOBAL, STT_FUNC, 0, 0x2b0, true},
		{"versioned@@NEW", STB_GLOBAL, STT_FUNC, 0, 0x2c0, true},
		{"versioned@OLDER", STB_GLOBAL, STT_FUNC, 0, 0x2d0, true},
		{"prefixed_name", STB_GLOBAL, STT_FUNC, 0, 0x2e0, true},
	};
	static const struct {
		const char *name;
		uint32_t offset;
	} want[] = {
		{"hidden_first", 0x210},
		{"hidden_last", 0x220},
		{"hidden_only", 0x240},
		{"indirect", 0x250},
		{"undefined", 0},
		{"object", 0},
		{"outside", 0},
		{"both", 0x270},
		{"local", 0x290},
		{"two", 0x330},
		{"one_twice", 0x350},
		{"imported_too", 0x360},
		{"not_local", 0x300},
		{"a_name_that_is_longer", 0},
		{"static_only", 0x2a0},
		{"versioned", 0x2c0},
		{"prefixed", 0},
		{"prefixed_name", 0x2e0},
		{"name", 0},
		{"", 0},
	};
	static const char *const imported[] = {"undefined", "imported_too", NULL};
	static const char *const local[] = {"local", "two", "one_twice", "imported_too",
					    NULL};
	char *path = temp_path("built");
	_cleanup_(elf_file_closep) struct elf_file *file =
		open_built(path, symbols, COUNT(symbols));
	const char *names[COUNT(want)];
	struct elf_symbol found[COUNT(want)];

	for (size_t i = 0; i < COUNT(want); i++)
		names[i] = want[i].name;
	REQUIRE(!elf_file_find_functions(file, names, COUNT(names), found));
	for (size_t i = 0; i < COUNT(want); i++) {
		CHECK_INT(found[i].is_imported, is_among(names[i], imported));
		if (!want[i].offset) {
			CHECK(!found[i].name);
			continue;
		}
		CHECK_STR(found[i].name, want[i].name);
		CHECK_INT(found[i].file_offset, want[i].offset);
		CHECK_INT(found[i].address, BUILT_BASE + want[i].offset);
		CHECK_INT(found[i].is_local, is_among(names[i], local));
		CHECK_INT(found[i].is_ambiguous, !strcmp(names[i], "two"));
	}
	CHECK_INT(found[3].type, STT_GNU_IFUNC);
	CHECK_INT(found[0].type, STT_FUNC);
	CHECK_STR(elf_file_build_id(file), BUILT_BUILD_ID);
	REQUIRE(!elf_file_find_functions(file, names, 0, found));
	remove_temp(path);
}

static void reading_code(void)
{
	char *path = temp_path("built");
	_cleanup_(elf_file_closep) struct elf_file *file = open_built(path, NULL, 0);
	unsigned char bytes[64];
	static struct built_image image;

	built_make(&image, NULL, 0);
	CHECK_INT(elf_file_read(file, 0x200, bytes, sizeof(bytes)), sizeof(bytes));
	CHECK(!memcmp(bytes, image.bytes + 0x200, sizeof(bytes)));
	CHECK_INT(elf_file_read(file, image.size - 5, bytes, sizeof(bytes)), 5);
	CHECK(!memcmp(bytes, image.bytes + image.size - 5, 5));
	CHECK_INT(elf_file_read(file, image.size, bytes, sizeof(bytes)), 0);
	CHECK_INT(elf_file_read(file, UINT64_MAX, bytes, sizeof(bytes)), 0);
	CHECK_INT(elf_file_read(file, 0, bytes, 0), 0);
	remove_temp(path);
}

/* libc's code, read in pieces of all sizes and distances, must equal the memory. */
static void pieces_agree_with_memory(void)
{
	const uint64_t distances[] = {1, 4095, 4096, 16 * 4096 + 1};
	void *handle;
	const struct link_map *map = libc_in_memory(&handle);
	_cleanup_(elf_file_closep) struct elf_file *file = NULL;
	const char *names[] = {"malloc"};
	struct elf_symbol found[1];
	unsigned char bytes[5000];

	REQUIRE(!elf_file_open(map->l_name, &file));
	REQUIRE(!elf_file_find_functions(file, names, 1, found));
	for (size_t size = 1; size <= sizeof(bytes); size = size * 3 + 1) {
		for (size_t i = 0; i < 2 * COUNT(distances); i++) {
			uint64_t at = i * distances[i % COUNT(distances)];

			CHECK_INT(elf_file_read(file, found[0].file_offset + at, bytes,
						size),
				  size);
			CHECK(!memcmp(bytes,
				      (const char *)map->l_addr + found[0].address + at,
				      size));
		}
	}
	dlclose(handle);
}

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
	RUN(libc_agrees_with_memory);
	RUN(default_version_wins);
	RUN(choice_of_symbols);
	RUN(reading_code);
	RUN(pieces_agree_with_memory);
	RUN(nothing_else_is_opened);
	RUN(other_files);
	RUN(damaged_tables);
	RUN(truncated_copies);
	RUN(flipped_bytes);
	RUN(flipped_tables);
	return check_done();
}
