// SPDX-License-Identifier: Apache-2.0
/* Which file is taken for the allocator's, of real processes. */
#include "check.h"

#include <errno.h>

#include "target/allocator.h"
#include "util/cleanup.h"
#include "unit/target/child.h"
#include "unit/target/elf_builder.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

DEFINE_CLEANUP(struct proc *, proc_close);

static const struct built_symbol malloc_and_free[] = {
	{"malloc", STB_GLOBAL, STT_FUNC, 1, 0x200, false},
	{"free", STB_GLOBAL, STT_FUNC, 1, 0x210, false},
};

static struct error *find(const struct child *child, const char *library,
			  struct allocator *ret)
{
	_cleanup_(proc_closep) struct proc *proc = NULL;
	struct proc_maps maps;

	REQUIRE(!proc_open(child->pid, &proc));
	REQUIRE(!proc_read_maps(proc, &maps));

	struct error *err = allocator_find(proc, &maps, library, ret);

	proc_maps_deinit(&maps);
	return err;
}

static const char *base_of(const char *path)
{
	return strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
}

/* The first address of the file in /proc/PID/maps, by another way of reading it. */
static uint64_t first_address(const struct child *child, const char *path)
{
	char line[8192], name[64];
	uint64_t start = 0;

	snprintf(name, sizeof(name), "/proc/%d/maps", child->pid);

	FILE *f = fopen(name, "re");

	REQUIRE(f);
	while (!start && fgets(line, sizeof(line), f))
		if (strstr(line, path))
			start = strtoull(line, NULL, 16);
	fclose(f);
	return start;
}

static void function_table(void)
{
	unsigned required = 0, mappings = 0;

	for (const struct alloc_function *f = alloc_libc_functions; f->name; f++) {
		bool frees = f->effect == EFFECT_FREE;
		bool takes = frees || f->effect == EFFECT_REALLOC ||
			     f->effect == EFFECT_UNMAP || f->effect == EFFECT_REMAP;

		required += f->required;
		mappings += f->mapping;
		CHECK_INT(f->old_arg != ARG_NONE, takes);
		CHECK_INT(f->size_arg == ARG_NONE, frees);
		CHECK_INT(f->out_arg != ARG_NONE, f->effect == EFFECT_ALLOC_OUT);
		CHECK_INT(f->mapping, f->effect >= EFFECT_MAP);
		/* Six arguments are in registers. */
		CHECK(f->size_arg < 6 || f->size_arg == ARG_NONE);
		CHECK(f->count_arg < 6 || f->count_arg == ARG_NONE);
		for (const struct alloc_function *g = alloc_libc_functions; g != f; g++)
			CHECK(strcmp(f->name, g->name));
	}
	CHECK_INT(required, 2);
	CHECK_INT(mappings, 4);
}

static void libc_of_a_program(void)
{
	struct child child = child_cat("/bin/cat");
	char dir[64], link[96];
	struct allocator allocator;

	REQUIRE(!find(&child, NULL, &allocator));
	if (strcmp(base_of(allocator.module_path), "libc.so.6"))
		printf("     libc is %s\n", allocator.module_path);
	CHECK(allocator.module_path[0] == '/');
	CHECK(access(allocator.open_path, R_OK) == 0);
	CHECK_INT(allocator.module_start, first_address(&child, allocator.module_path));
	CHECK(allocator.module_start != 0);

	/* The same file under the names by which a person may know it. */
	snprintf(dir, sizeof(dir), "%s", child_tmpdir());
	snprintf(link, sizeof(link), "%s/link", dir);
	REQUIRE(symlink(allocator.module_path, link) == 0);

	const char *const names[] = {allocator.module_path,
				     base_of(allocator.module_path), link};

	for (size_t i = 0; i < COUNT(names); i++) {
		struct allocator again;

		REQUIRE(!find(&child, names[i], &again));
		CHECK_STR(again.module_path, allocator.module_path);
		CHECK_INT(again.module_start, allocator.module_start);
		allocator_deinit(&again);
	}
	unlink(link);
	rmdir(dir);

	/* What is not mapped is named, and what could have been meant. */
	static const char *const absent[] = {"/nowhere/libjemalloc.so.2",
					     "libjemalloc.so.2", "/etc/passwd", "cat.so",
					     ""};

	for (size_t i = 0; i < COUNT(absent); i++) {
		struct allocator none;
		_cleanup_(error_destroyp) struct error *err =
			find(&child, absent[i], &none);

		REQUIRE(err);
		CHECK_INT(err->code, ERROR_NOT_FOUND);
		CHECK_CONTAINS(err->message, "has not mapped");
		CHECK_CONTAINS(err->message, absent[i]);
		CHECK_CONTAINS(err->message, "--lib");
		CHECK_CONTAINS(err->message, allocator.module_path);
	}
	allocator_deinit(&allocator);
	CHECK(!allocator.module_path);
	child_end(&child);
}

/* Start a made program called `name` with these symbols and look for its allocator:
 * true when it is the program itself. */
static bool found_in_program(const char *name, const struct built_symbol *symbols,
			     size_t count)
{
	const char *dir = child_tmpdir();
	struct allocator allocator;
	struct child child;
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	built_file(path, symbols, count);
	REQUIRE(child_exec(path, &child));

	_cleanup_(error_destroyp) struct error *err = find(&child, NULL, &allocator);

	if (err) {
		CHECK_INT(err->code, ERROR_NOT_FOUND);
		CHECK_CONTAINS(err->message, "no allocator found");
		CHECK_CONTAINS(err->message, path);
		CHECK_CONTAINS(err->message, "--lib PATH");
	} else {
		CHECK_STR(allocator.module_path, path);
		CHECK_INT(allocator.module_start, BUILT_BASE);
		allocator_deinit(&allocator);
	}
	child_end(&child);
	unlink(path);
	rmdir(dir);
	return !err;
}

static void programs_with_a_malloc(void)
{
	static const struct built_symbol in_symtab[] = {
		{"malloc", STB_WEAK, STT_FUNC, 0, 0x200, true},
		{"free", STB_GLOBAL, STT_FUNC, 0, 0x210, true},
	};
	static const struct built_symbol private[] = {
		{"malloc", STB_LOCAL, STT_FUNC, 0, 0x200, true},
		{"free", STB_LOCAL, STT_FUNC, 0, 0x210, true},
	};
	static const struct built_symbol imported[] = {
		{"malloc", STB_GLOBAL, STT_FUNC, 1, 0x200, false},
		{"free", STB_GLOBAL, STT_FUNC, 1, 0, false},
	};

	CHECK(found_in_program("dynamic", malloc_and_free, 2));
	CHECK(found_in_program("static", in_symtab, 2));
	CHECK(!found_in_program("half", malloc_and_free, 1));
	CHECK(!found_in_program("imports-free", imported, 2));
	CHECK(!found_in_program("private", private, 2));
	CHECK(!found_in_program("none", NULL, 0));
	/* An old dynamic linker's own malloc is not the program's. */
	CHECK(!found_in_program("ld-linux-x86-64.so.2", malloc_and_free, 2));
	CHECK(!found_in_program("ld-2.28.so", malloc_and_free, 2));
}

static void names_of_libc(void)
{
	static const char *const libc[] = {"libc.so.6", "libc-2.31.so", "libc.so",
					   "libc.musl-x86_64.so.1",
					   "ld-musl-x86_64.so.1"};
	static const char *const other[] = {"libc.so.6.bak", "mylibc.so.6",
					    "libc-2.31.txt", "libcurl.so", "ld-musl"};

	for (size_t i = 0; i < COUNT(libc); i++)
		CHECK(found_in_program(libc[i], NULL, 0));
	for (size_t i = 0; i < COUNT(other); i++)
		CHECK(!found_in_program(other[i], NULL, 0));
}

/* A program that was deleted, and one that was replaced by another while it runs. */
static void files_that_are_gone(void)
{
	if (geteuid()) {
		printf("     not root: /proc/PID/map_files cannot be followed\n");
		return;
	}
	for (int replaced = 0; replaced < 2; replaced++) {
		const char *dir = child_tmpdir();
		struct allocator allocator;
		struct child child;
		char path[128];

		snprintf(path, sizeof(path), "%s/program", dir);
		built_file(path, malloc_and_free, 2);
		REQUIRE(child_exec(path, &child));
		REQUIRE(unlink(path) == 0);
		if (replaced)
			built_write(path, "#!", 2);

		REQUIRE(!find(&child, NULL, &allocator));
		CHECK_STR(allocator.module_path, path);
		CHECK_CONTAINS(allocator.open_path, "/map_files/");
		allocator_deinit(&allocator);
		REQUIRE(!find(&child, "program", &allocator));
		allocator_deinit(&allocator);
		child_end(&child);
		unlink(path);
		rmdir(dir);
	}
}

static void nothing_is_mapped(void)
{
	struct child child = child_fork(NULL, NULL);
	_cleanup_(proc_closep) struct proc *proc = NULL;
	struct proc_maps maps = {0};
	struct allocator allocator;

	REQUIRE(!proc_open(child.pid, &proc));

	_cleanup_(error_destroyp) struct error *err =
		allocator_find(proc, &maps, NULL, &allocator);

	REQUIRE(err);
	CHECK_INT(err->code, ERROR_NOT_FOUND);
	CHECK_CONTAINS(err->message, "none of a file");
	child_end(&child);
}

int main(void)
{
	RUN(function_table);
	RUN(libc_of_a_program);
	RUN(programs_with_a_malloc);
	RUN(names_of_libc);
	RUN(files_that_are_gone);
	RUN(nothing_is_mapped);
	return check_done();
}
