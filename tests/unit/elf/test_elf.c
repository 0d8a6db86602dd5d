// SPDX-License-Identifier: Apache-2.0
/* Functions of ELF files: of the libc in our memory, and of generated files. */
#include "check.h"

#include <dlfcn.h>
#include <link.h>

#include "elf/elf.h"
#include "unit/elf/elf_builder.h"
#include "unit/elf/elf_copies.h"
#include "unit/same_code.h"
#include "util/cleanup.h"

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
		CHECK(is_same_code(bytes, code, sizeof(bytes)));
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
			CHECK(is_same_code(
				bytes, (const char *)map->l_addr + found[0].address + at,
				size));
		}
	}
	dlclose(handle);
}

int main(void)
{
	RUN(libc_agrees_with_memory);
	RUN(default_version_wins);
	RUN(choice_of_symbols);
	RUN(reading_code);
	RUN(pieces_agree_with_memory);
	return check_done();
}
