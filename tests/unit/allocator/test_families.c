// SPDX-License-Identifier: Apache-2.0
/* A family that is in the table of alloc_families.c is searched, and its functions are
 * traced. Also those that this test adds to the table. */
#include "check.h"

#include <stdlib.h>
#include <unistd.h>

#include "allocator/allocator.h"
#include "process/target_file.h"
#include "unit/elf/elf_builder.h"
#include "unit/process/child.h"
#include "util/cleanup.h"

static const struct alloc_function added_functions[] = {
	{"zz_take", EFFECT_ALLOC, 0, ARG_NONE, ARG_NONE, ARG_NONE, false, false},
	{"zz_give", EFFECT_FREE, ARG_NONE, ARG_NONE, 0, ARG_NONE, false, false},
	{0},
};

static const struct alloc_function extension_functions[] = {
	{"yy_take", EFFECT_ALLOC, 0, ARG_NONE, ARG_NONE, ARG_NONE, false, false},
	{"yy_give", EFFECT_FREE, ARG_NONE, ARG_NONE, 0, ARG_NONE, false, false},
	{0},
};

#define ALLOC_FAMILY_OF_TEST                                                             \
	{"added", "zz_", FAMILY_NAMED, added_functions},                                 \
	{                                                                                \
		"extension", "", FAMILY_EXTENSION, extension_functions                   \
	}
#include "allocator/alloc_families.c"

DEFINE_CLEANUP(struct target_file *, target_file_release);

/* Search a library that defines these functions. `prefix` is that of --symbols-prefix, or
 * NULL. */
static void scan(const struct built_symbol *symbols, size_t count, const char *prefix,
		 struct allocators *ret)
{
	const struct allocator_options how = {.symbols_prefix = prefix};
	const char *dir = child_tmpdir();
	char path[128];
	_cleanup_(target_file_releasep) struct target_file *opened = NULL;
	_cleanup_(freep) char *why_none = NULL;
	struct allocator_file file = {.module_path = path, .is_named = true};

	snprintf(path, sizeof(path), "%s/library", dir);
	built_file(path, symbols, count);
	REQUIRE(!target_file_named(NULL, path, &opened));
	file.file = opened;
	REQUIRE(!allocators_scan(&file, &how, ret, &why_none));
	unlink(path);
	rmdir(dir);
}

struct symbols {
	struct built_symbol list[BUILT_SYMBOLS_MAX];
	size_t count;
};

/* Add a function at an address of its own. */
static void add_symbol(struct symbols *symbols, const char *name)
{
	REQUIRE(symbols->count < BUILT_SYMBOLS_MAX);
	symbols->list[symbols->count] = (struct built_symbol){
		.name = name,
		.bind = STB_GLOBAL,
		.type = STT_FUNC,
		.version = 1,
		.offset = 0x200 + 16 * (uint32_t)symbols->count,
	};
	symbols->count++;
}

static size_t add_family(struct symbols *symbols, const struct alloc_family *family)
{
	size_t count = 0;

	for (; family->functions[count].name; count++)
		add_symbol(symbols, family->functions[count].name);
	return count;
}

static void check_allocator(const struct allocator *allocator, const char *label,
			    size_t count)
{
	CHECK_STR(allocator->label, label);
	CHECK_INT(allocator->functions.len, count);
}

static void check_family(const struct alloc_family *family)
{
	struct symbols symbols = {.count = 0};
	struct allocators found = {0};
	size_t count = add_family(&symbols, family);

	scan(symbols.list, symbols.count, NULL, &found);
	REQUIRE(found.list.len == 1);
	check_allocator(&found.list.data[0], family->label, count);
	allocators_deinit(&found);
}

/* An extension is part of the file's malloc, another family is an allocator beside it. */
static void check_beside_malloc(const struct alloc_family *family)
{
	bool is_extension = family->role == FAMILY_EXTENSION;
	struct symbols symbols = {.count = 0};
	struct allocators found = {0};
	size_t count;

	add_symbol(&symbols, "malloc");
	add_symbol(&symbols, "free");
	count = add_family(&symbols, family);
	scan(symbols.list, symbols.count, NULL, &found);
	REQUIRE(found.list.len == (is_extension ? 1 : 2));
	if (is_extension) {
		check_allocator(&found.list.data[0], family->label, 2 + count);
	} else {
		check_allocator(&found.list.data[0], "library", 2);
		check_allocator(&found.list.data[1], family->label, count);
	}
	allocators_deinit(&found);
}

static void each_family_of_the_table_is_found(void)
{
	unsigned checked = 0, added = 0;

	for (size_t i = 0; i < alloc_family_count; i++) {
		const struct alloc_family *family = &alloc_families[i];

		if (family->role != FAMILY_NAMED && family->role != FAMILY_EXTENSION)
			continue;
		check_family(family);
		check_beside_malloc(family);
		added += family->functions == added_functions ||
			 family->functions == extension_functions;
		checked++;
	}
	CHECK(checked >= 9);
	CHECK_INT(added, 2);
}

/* --symbols-prefix also applies to extensions without a prefix of their own. */
static void extensions_are_built_with_a_prefix(void)
{
	struct symbols symbols = {.count = 0};
	struct allocators found = {0};

	add_symbol(&symbols, "my_malloc");
	add_symbol(&symbols, "my_free");
	add_symbol(&symbols, "my_yy_take");
	add_symbol(&symbols, "my_mallocx");
	add_symbol(&symbols, "my_zz_take");
	scan(symbols.list, symbols.count, "my_", &found);
	REQUIRE(found.list.len == 1);
	check_allocator(&found.list.data[0], "library", 4);
	allocators_deinit(&found);
}

/* The linker makes hidden functions of an allocator local. */
static void local_extensions_are_found(void)
{
	struct symbols symbols = {.count = 0};
	struct allocators found = {0};

	add_symbol(&symbols, "malloc");
	add_symbol(&symbols, "free");
	add_symbol(&symbols, "yy_take");
	symbols.list[2].bind = STB_LOCAL;
	symbols.list[2].version = 0;
	symbols.list[2].is_static = true;
	scan(symbols.list, symbols.count, NULL, &found);
	REQUIRE(found.list.len == 1);
	check_allocator(&found.list.data[0], "extension", 3);
	allocators_deinit(&found);
}

int main(void)
{
	RUN(each_family_of_the_table_is_found);
	RUN(extensions_are_built_with_a_prefix);
	RUN(local_extensions_are_found);
	return check_done();
}
