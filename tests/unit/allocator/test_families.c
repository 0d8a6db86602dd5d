// SPDX-License-Identifier: Apache-2.0
/* A family that is in the table of alloc_families.c is searched, and its functions are
 * traced. Also one that this test adds to the table. */
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

#define ALLOC_FAMILY_OF_TEST                                                             \
	{                                                                                \
		"added", "zz_", FAMILY_NAMED, added_functions                            \
	}
#include "allocator/alloc_families.c"

#define SYMBOLS_MAX 63

DEFINE_CLEANUP(struct target_file *, target_file_release);

/* Search a library that defines these functions. */
static void scan(const struct built_symbol *symbols, size_t count, struct allocators *ret)
{
	const struct allocator_options how = {0};
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

static void check_family(const struct alloc_family *family)
{
	struct built_symbol symbols[SYMBOLS_MAX] = {0};
	struct allocators found = {0};
	size_t count = 0;

	for (; count < SYMBOLS_MAX && family->functions[count].name; count++)
		symbols[count] = (struct built_symbol){
			.name = family->functions[count].name,
			.bind = STB_GLOBAL,
			.type = STT_FUNC,
			.version = 1,
			.offset = 0x200 + 16 * (uint32_t)count,
		};
	scan(symbols, count, &found);
	REQUIRE(found.list.len == 1);
	CHECK_STR(found.list.data[0].label, family->label);
	CHECK_INT(found.list.data[0].functions.len, count);
	allocators_deinit(&found);
}

static void each_family_of_the_table_is_found(void)
{
	unsigned checked = 0, added = 0;

	for (size_t i = 0; i < alloc_family_count; i++) {
		/* An unprefixed mallocx is part of another allocator. */
		if (alloc_families[i].role != FAMILY_NAMED || i == ALLOC_FAMILY_JEMALLOC)
			continue;
		check_family(&alloc_families[i]);
		added += alloc_families[i].functions == added_functions;
		checked++;
	}
	CHECK(checked >= 6);
	CHECK_INT(added, 1);
}

int main(void)
{
	RUN(each_family_of_the_table_is_found);
	return check_done();
}
