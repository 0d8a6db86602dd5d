// SPDX-License-Identifier: Apache-2.0
/* The allocators that a program itself defines, by its symbols: hidden ones, halves, and
 * those of other names. */
#include "check.h"

#include <unistd.h>

#include "allocator/allocator.h"
#include "unit/allocator/allocator_find.h"
#include "unit/elf/elf_builder.h"
#include "unit/process/child.h"
#include "util/cleanup.h"

/* Starts a generated program `name` with these symbols and looks for its allocators. */
static struct error *find_in_program(const char *name, const struct built_symbol *symbols,
				     size_t count,
				     const struct allocator_options *options,
				     struct allocators *ret)
{
	const char *dir = child_tmpdir();
	struct child child;
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	built_file(path, symbols, count);
	REQUIRE(child_exec(path, &child));

	struct error *err = find_with(&child, options, ret);

	for (size_t i = 0; !err && i < ret->list.len; i++) {
		CHECK_STR(ret->list.data[i].module_path, path);
		CHECK_INT(ret->list.data[i].module_start, BUILT_BASE);
		CHECK_STR(ret->list.data[i].build_id, BUILT_BUILD_ID);
	}
	if (err) {
		CHECK_INT(err->code, ERROR_NOT_FOUND);
		CHECK_CONTAINS(err->message, "no allocator found");
		CHECK_CONTAINS(err->message, path);
		CHECK_CONTAINS(err->message, "--lib PATH");
	}
	child_end(&child);
	unlink(path);
	rmdir(dir);
	return err;
}

/* The labels of the found allocators with their numbers of functions: "glibc 2, jemalloc
 * 3"; "" if none was found. Borrowed until the next call. */
static const char *labels_with(const char *name, const struct built_symbol *symbols,
			       size_t count, const struct allocator_options *options)
{
	static char text[512];
	struct allocators found = {0};

	text[0] = '\0';
	error_destroy(find_in_program(name, symbols, count, options, &found));
	vec_foreach (a, &found.list)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s %zu",
			 text[0] ? ", " : "", a->label, a->functions.len);
	allocators_deinit(&found);
	return text;
}

static const char *labels(const char *name, const struct built_symbol *symbols,
			  size_t count)
{
	const struct allocator_options options = {0};

	return labels_with(name, symbols, count, &options);
}

#define SYMBOL(name, offset)                                                             \
	{                                                                                \
		name, STB_GLOBAL, STT_FUNC, 1, offset, false                             \
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
		SYMBOL("malloc", 0x200),
		SYMBOL("free", 0),
	};
	static const struct built_symbol no_free[] = {
		SYMBOL("malloc", 0x200),
		SYMBOL("calloc", 0x210),
		SYMBOL("realloc", 0x220),
	};

	CHECK_STR(labels("dynamic", malloc_and_free, 2), "executable 2");
	CHECK_STR(labels("static", in_symtab, 2), "executable 2");
	CHECK_STR(labels("half", malloc_and_free, 1), "");
	CHECK_STR(labels("no-free", no_free, 3), "");
	CHECK_STR(labels("imports-free", imported, 2), "");
	CHECK_STR(labels("private", private, 2), "");
	CHECK_STR(labels("none", NULL, 0), "");
	/* The malloc of an old dynamic linker is not the program's. */
	CHECK_STR(labels("ld-linux-x86-64.so.2", malloc_and_free, 2), "");
	CHECK_STR(labels("ld-2.28.so", malloc_and_free, 2), "");
}

#define LOCAL(name, offset)                                                              \
	{                                                                                \
		name, STB_LOCAL, STT_FUNC, 0, offset, true                               \
	}
#define IMPORT(name)                                                                     \
	{                                                                                \
		name, STB_GLOBAL, STT_FUNC, 0, 0, false                                  \
	}

/* The address of a function of the only allocator; 0: not found. */
static uint64_t address_in(const struct allocators *found, const char *name)
{
	REQUIRE(found->list.len == 1);
	vec_foreach (f, &found->list.data[0].functions)
		if (!strcmp(f->function->name, name))
			return f->symbol.address;
	return 0;
}

/* In a static PIE ld makes hidden symbols local. */
static void hidden_functions(void)
{
	static const struct built_symbol hidden_malloc[] = {
		LOCAL("malloc", 0x200),
		SYMBOL("free", 0x210),
		SYMBOL("calloc", 0x220),
		LOCAL("mallocx", 0x230),
	};
	static const struct built_symbol hidden_pair[] = {
		LOCAL("malloc", 0x200),
		LOCAL("free", 0x210),
		SYMBOL("realloc", 0x220),
	};
	/* Static functions of a program that imports malloc from a library. */
	static const struct built_symbol own_free[] = {
		IMPORT("malloc"),
		LOCAL("free", 0x210),
		SYMBOL("reallocarray", 0x220),
	};
	static const struct built_symbol own_both[] = {
		IMPORT("calloc"),
		LOCAL("malloc", 0x200),
		LOCAL("free", 0x210),
		SYMBOL("valloc", 0x220),
	};

	CHECK_STR(labels("a", hidden_malloc, COUNT(hidden_malloc)), "jemalloc 4");
	CHECK_STR(labels("a", hidden_pair, COUNT(hidden_pair)), "executable 3");
	CHECK_STR(labels("a", own_free, COUNT(own_free)), "");
	CHECK_STR(labels("a", own_both, COUNT(own_both)), "");
}

/* There is also a static function with the same name. */
static void one_hidden_of_several(void)
{
	static const struct built_symbol symbols[] = {
		LOCAL("malloc", 0x230),        LOCAL("malloc", 0x200),
		SYMBOL("free", 0x210),         SYMBOL("calloc", 0x220),
		LOCAL("__libc_malloc", 0x200),
	};
	const struct allocator_options options = {0};
	struct allocators found = {0}, unsure = {0}, same = {0};

	REQUIRE(!find_in_program("a", symbols, COUNT(symbols), &options, &found));
	CHECK_INT(address_in(&found, "malloc"), BUILT_BASE + 0x200);
	CHECK_INT(found.list.data[0].functions.len, 3);
	CHECK_INT(found.list.data[0].hidden.len, 0);
	allocators_deinit(&found);

	/* It is ambiguous which one it is. */
	REQUIRE(!find_in_program("a", symbols, COUNT(symbols) - 1, &options, &unsure));
	CHECK_INT(address_in(&unsure, "malloc"), 0);
	REQUIRE(unsure.list.data[0].hidden.len == 1);
	CHECK_STR(unsure.list.data[0].hidden.data[0]->name, "malloc");
	allocators_deinit(&unsure);

	/* A function that does not exist is not hidden. */
	REQUIRE(!find_in_program("a", symbols + 2, 2, &options, &same));
	CHECK_INT(same.list.data[0].hidden.len, 0);
	CHECK(same.list.data[0].missing.len > 0);
	allocators_deinit(&same);
}

/* Symbols that no other file can see count if the user names the file. */
static void hidden_in_a_named_file(void)
{
	static const struct built_symbol symbols[] = {
		LOCAL("malloc", 0x200),
		LOCAL("free", 0x210),
		IMPORT("free"),
	};
	const struct allocator_options named = {.library = "a"};

	CHECK_STR(labels("a", symbols, 2), "");
	CHECK_STR(labels_with("a", symbols, 2, &named), "executable 2");

	const char *dir = child_tmpdir();
	struct allocators none = {0};
	struct child child;
	char path[128];

	snprintf(path, sizeof(path), "%s/a", dir);
	built_file(path, symbols, 3);
	REQUIRE(child_exec(path, &child));

	_cleanup_(error_destroyp) struct error *err = find_with(&child, &named, &none);

	REQUIRE(err);
	CHECK_CONTAINS(err->message, "does not define malloc and free");
	child_end(&child);
	unlink(path);
	rmdir(dir);
}

/* The message about a program with only malloc or only free. */
static void half_of_an_allocator(void)
{
	static const struct built_symbol no_free[] = {
		SYMBOL("malloc", 0x200),
		SYMBOL("calloc", 0x210),
		SYMBOL("mmap", 0x220),
	};
	static const struct built_symbol no_malloc[] = {SYMBOL("free", 0x200)};
	const struct allocator_options options = {0};
	struct allocators none = {0};
	_cleanup_(error_destroyp) struct error *frees_not =
		find_in_program("a", no_free, COUNT(no_free), &options, &none);
	_cleanup_(error_destroyp) struct error *makes_none =
		find_in_program("a", no_malloc, COUNT(no_malloc), &options, &none);
	_cleanup_(error_destroyp) struct error *nothing =
		find_in_program("a", NULL, 0, &options, &none);

	REQUIRE(frees_not && makes_none && nothing);
	CHECK_CONTAINS(frees_not->message, "/a has malloc, calloc and no free: ");
	CHECK_CONTAINS(makes_none->message, "/a has free and no function that allocates");
	CHECK_CONTAINS(nothing->message, "searched /");
	CHECK_CONTAINS(frees_not->message, "--growth");
	CHECK_CONTAINS(nothing->message, "--growth");
}

static void whose_malloc_it_is(void)
{
	static const struct built_symbol glibc[] = {
		SYMBOL("malloc", 0x200),
		SYMBOL("free", 0x210),
		SYMBOL("gnu_get_libc_version", 0x220),
		SYMBOL("mmap", 0x230),
	};
	static const struct built_symbol musl[] = {
		SYMBOL("malloc", 0x200),
		SYMBOL("free", 0x210),
		{"__libc_malloc_impl", STB_LOCAL, STT_FUNC, 0, 0x220, true},
	};
	static const struct built_symbol jemalloc[] = {
		SYMBOL("malloc", 0x200),
		SYMBOL("free", 0x210),
		SYMBOL("mallocx", 0x220),
		SYMBOL("dallocx", 0x230),
		SYMBOL("_Znwm", 0x240),
		SYMBOL("_ZdlPv", 0x250),
		SYMBOL("_ZSt15get_new_handlerv", 0x260),
	};
	static const struct built_symbol tcmalloc[] = {
		SYMBOL("malloc", 0x200),    SYMBOL("free", 0x210),
		SYMBOL("tc_malloc", 0x200), SYMBOL("tc_free", 0x210),
		SYMBOL("_Znwm", 0x220),     SYMBOL("_ZdlPv", 0x210),
	};
	static const struct built_symbol mimalloc[] = {
		SYMBOL("malloc", 0x200),         SYMBOL("free", 0x210),
		SYMBOL("mi_free", 0x210),        SYMBOL("mi_malloc", 0x200),
		SYMBOL("mi_heap_malloc", 0x220),
	};
	static const struct built_symbol beside[] = {
		SYMBOL("malloc", 0x200),    SYMBOL("free", 0x210),
		SYMBOL("mi_malloc", 0x220), SYMBOL("mi_free", 0x230),
		SYMBOL("_Znwm", 0x240),     SYMBOL("_ZdlPv", 0x250),
	};
	/* A block of an arena may be passed to free(), also if moz_arena_free() is
	 * missing. */
	static const struct built_symbol mozjemalloc[] = {
		SYMBOL("malloc", 0x200),
		SYMBOL("free", 0x210),
		SYMBOL("moz_arena_malloc", 0x220),
		SYMBOL("moz_arena_calloc", 0x230),
		SYMBOL("_Znwm", 0x240),
		SYMBOL("_ZdlPv", 0x250),
	};

	CHECK_STR(labels("a", glibc, COUNT(glibc)), "glibc 3");
	CHECK_STR(labels("a", musl, COUNT(musl)), "musl 2");
	CHECK_STR(labels("ld-musl-x86_64.so.1", malloc_and_free, 2), "musl 2");
	/* Their operators new and delete do not call malloc, so they belong to the
	 * allocator. */
	CHECK_STR(labels("a", jemalloc, COUNT(jemalloc)), "jemalloc 6");
	CHECK_STR(labels("a", tcmalloc, COUNT(tcmalloc)), "tcmalloc 6");
	CHECK_STR(labels("a", mimalloc, COUNT(mimalloc)), "mimalloc 5");
	CHECK_STR(labels("a", beside, COUNT(beside)), "executable 2, mimalloc 4");
	CHECK_STR(labels("a", mozjemalloc, COUNT(mozjemalloc)), "mozjemalloc 6");
}

static void prefixed_jemalloc(void)
{
	static const struct built_symbol symbols[] = {
		SYMBOL("malloc", 0x200),
		SYMBOL("free", 0x210),
		SYMBOL("je_malloc", 0x220),
		SYMBOL("je_free", 0x230),
		SYMBOL("je_xallocx", 0x240),
		/* Symbols that the linker or a Rust library made local. */
		{"_rjem_mallocx", STB_LOCAL, STT_FUNC, 0, 0x250, true},
		{"_rjem_sdallocx", STB_LOCAL, STT_FUNC, 0, 0x260, true},
		/* It has no function that frees. */
		SYMBOL("je_arrow_malloc", 0x270),
	};
	static const struct built_symbol other[] = {
		SYMBOL("malloc", 0x200),     SYMBOL("free", 0x210),
		SYMBOL("my_malloc", 0x220),  SYMBOL("my_free", 0x230),
		SYMBOL("my_dallocx", 0x240), SYMBOL("mmap", 0x250),
		SYMBOL("my_mmap", 0x260),
	};
	const struct allocator_options prefix = {.symbols_prefix = "my_"};
	const struct allocator_options mappings = {.symbols_prefix = "my_",
						   .mappings = true};
	const struct allocator_options absent = {.symbols_prefix = "your_"};

	CHECK_STR(labels("a", symbols, COUNT(symbols)),
		  "executable 2, jemalloc 3, jemalloc 2");
	CHECK_STR(labels("a", other, COUNT(other)), "executable 3");
	CHECK_STR(labels_with("a", other, COUNT(other), &prefix), "executable 3");
	CHECK_STR(labels_with("a", other, COUNT(other), &mappings), "executable 4");
	CHECK_STR(labels_with("a", other, COUNT(other), &absent), "");

	struct allocators found = {0};
	_cleanup_(error_destroyp) struct error *err =
		find_in_program("a", other, COUNT(other), &absent, &found);

	REQUIRE(err);
	CHECK_CONTAINS(err->message, "your_malloc");
}

static void operators_of_programs(void)
{
	static const struct built_symbol own[] = {
		SYMBOL("_Znwm", 0x200),
		SYMBOL("_ZdlPv", 0x210),
		SYMBOL("_ZdlPvm", 0x220),
	};
	static const struct built_symbol of_runtime[] = {
		SYMBOL("_Znwm", 0x200),
		SYMBOL("_ZdlPv", 0x210),
		SYMBOL("_ZSt15get_new_handlerv", 0x220),
	};
	static const struct built_symbol with_malloc[] = {
		SYMBOL("malloc", 0x200),
		SYMBOL("free", 0x210),
		SYMBOL("_Znwm", 0x220),
		SYMBOL("_ZdlPv", 0x230),
		SYMBOL("_ZSt15get_new_handlerv", 0x240),
	};
	static const struct built_symbol rust[] = {
		{"__rust_alloc", STB_GLOBAL, STT_FUNC, 0, 0x200, true},
		{"__rust_dealloc", STB_GLOBAL, STT_FUNC, 0, 0x210, true},
	};
	static const struct built_symbol rust_over_malloc[] = {
		{"__rust_alloc", STB_GLOBAL, STT_FUNC, 0, 0x200, true},
		{"__rust_dealloc", STB_GLOBAL, STT_FUNC, 0, 0x210, true},
		{"malloc", STB_GLOBAL, STT_FUNC, 0, 0x220, true},
		{"free", STB_GLOBAL, STT_FUNC, 0, 0x230, true},
	};
	const struct allocator_options named = {.library = "a"};

	CHECK_STR(labels("a", own, COUNT(own)), "executable 3");
	/* The operators of the C++ runtime call malloc, which is traced. */
	CHECK_STR(labels("a", of_runtime, COUNT(of_runtime)), "");
	CHECK_STR(labels("a", with_malloc, COUNT(with_malloc)), "executable 2");
	CHECK_STR(labels_with("a", of_runtime, COUNT(of_runtime), &named),
		  "executable 2");
	CHECK_STR(labels("a", rust, COUNT(rust)), "Rust 2");
	CHECK_STR(labels("a", rust_over_malloc, COUNT(rust_over_malloc)), "executable 2");
}

int main(void)
{
	RUN(programs_with_a_malloc);
	RUN(hidden_functions);
	RUN(one_hidden_of_several);
	RUN(hidden_in_a_named_file);
	RUN(half_of_an_allocator);
	RUN(whose_malloc_it_is);
	RUN(prefixed_jemalloc);
	RUN(operators_of_programs);
	return check_done();
}
