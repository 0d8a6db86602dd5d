// SPDX-License-Identifier: Apache-2.0
/*
 * The table of known allocation functions, family by family. Argument orders follow
 * malloc(3), posix_memalign(3), mmap(2), mremap(2), C23 7.24.3 (free_sized,
 * free_aligned_sized), jemalloc(3), gperftools/tcmalloc.h, mimalloc.h (2.x) and Firefox's
 * mozmemory.h. The C++ operators are those in [new.delete], mangled by the Itanium ABI
 * with size_t as unsigned long.
 */
#include "allocator/allocator.h"

#include <stddef.h>

#define NONE ARG_NONE

/* Initializers for the usual kinds of functions: the name, then the numbers of the
 * arguments. */
#define ALLOC(name, size)                                                                \
	{                                                                                \
		name, EFFECT_ALLOC, size, NONE, NONE, NONE, false, false                 \
	}
#define ALLOC_N(name, n, size)                                                           \
	{                                                                                \
		name, EFFECT_ALLOC, size, n, NONE, NONE, false, false                    \
	}
#define REALLOC(name, old, size)                                                         \
	{                                                                                \
		name, EFFECT_REALLOC, size, NONE, old, NONE, false, false                \
	}
#define REALLOC_N(name, old, n, size)                                                    \
	{                                                                                \
		name, EFFECT_REALLOC, size, n, old, NONE, false, false                   \
	}
#define RESIZE(name, old, size)                                                          \
	{                                                                                \
		name, EFFECT_RESIZE, size, NONE, old, NONE, false, false                 \
	}
#define FREE(name)                                                                       \
	{                                                                                \
		name, EFFECT_FREE, NONE, NONE, 0, NONE, false, false                     \
	}

/* The functions of the C library, with the prefix `p`. glibc keeps cfree for old
 * programs. */
#define LIBC_FUNCTIONS(p)                                                                \
	{p "malloc", EFFECT_ALLOC, 0, NONE, NONE, NONE, true, false},                    \
		{p "free", EFFECT_FREE, NONE, NONE, 0, NONE, true, false},               \
		{p "calloc", EFFECT_ALLOC, 1, 0, NONE, NONE, true, false},               \
		{p "realloc", EFFECT_REALLOC, 1, NONE, 0, NONE, true, false},            \
		{p "posix_memalign", EFFECT_ALLOC_OUT, 2, NONE, NONE, 0, true, false},   \
		{p "aligned_alloc", EFFECT_ALLOC, 1, NONE, NONE, NONE, true, false},     \
		REALLOC_N(p "reallocarray", 0, 1, 2), ALLOC(p "memalign", 1),            \
		ALLOC(p "valloc", 0), ALLOC(p "pvalloc", 0), FREE(p "cfree"),            \
		FREE(p "free_sized"), FREE(p "free_aligned_sized")

/* xallocx() resizes in place and returns the resulting size of the block. */
#define JEMALLOC_FUNCTIONS(p)                                                            \
	ALLOC(p "mallocx", 0), REALLOC(p "rallocx", 0, 1), RESIZE(p "xallocx", 0, 1),    \
		FREE(p "dallocx"), FREE(p "sdallocx")

static const struct alloc_function libc_functions[] = {
	LIBC_FUNCTIONS(""),
	{"mmap", EFFECT_MAP, 1, NONE, NONE, NONE, false, true},
	{"mmap64", EFFECT_MAP, 1, NONE, NONE, NONE, false, true},
	{"munmap", EFFECT_UNMAP, 1, NONE, 0, NONE, false, true},
	{"mremap", EFFECT_REMAP, 2, NONE, 0, NONE, false, true},
	{0},
};

static const struct alloc_function jemalloc_functions[] = {JEMALLOC_FUNCTIONS(""), {0}};

/* Firefox's allocator. The first argument is the arena; a block of an arena may also be
 * passed to free() and realloc(). */
static const struct alloc_function mozjemalloc_functions[] = {
	ALLOC("moz_arena_malloc", 1),
	{"moz_arena_free", EFFECT_FREE, NONE, NONE, 1, NONE, false, false},
	ALLOC_N("moz_arena_calloc", 1, 2),
	REALLOC("moz_arena_realloc", 1, 2),
	ALLOC("moz_arena_memalign", 2),
	{0},
};

/* Prefixes in use: by hand-made builds, by Rust's tikv-jemallocator, by Arrow. */
static const struct alloc_function je_functions[] = {
	LIBC_FUNCTIONS("je_"), JEMALLOC_FUNCTIONS("je_"), {0}};
static const struct alloc_function rjem_functions[] = {
	LIBC_FUNCTIONS("_rjem_"), JEMALLOC_FUNCTIONS("_rjem_"), {0}};
static const struct alloc_function arrow_functions[] = {
	LIBC_FUNCTIONS("je_arrow_"), JEMALLOC_FUNCTIONS("je_arrow_"), {0}};

static const struct alloc_function tcmalloc_functions[] = {
	ALLOC("tc_malloc", 0),
	FREE("tc_free"),
	ALLOC_N("tc_calloc", 0, 1),
	REALLOC("tc_realloc", 0, 1),
	{"tc_posix_memalign", EFFECT_ALLOC_OUT, 2, NONE, NONE, 0, false, false},
	ALLOC("tc_memalign", 1),
	ALLOC("tc_valloc", 0),
	ALLOC("tc_pvalloc", 0),
	ALLOC("tc_malloc_skip_new_handler", 0),
	ALLOC("tc_new", 0),
	ALLOC("tc_newarray", 0),
	ALLOC("tc_new_nothrow", 0),
	ALLOC("tc_newarray_nothrow", 0),
	ALLOC("tc_new_aligned", 0),
	ALLOC("tc_newarray_aligned", 0),
	ALLOC("tc_new_aligned_nothrow", 0),
	ALLOC("tc_newarray_aligned_nothrow", 0),
	FREE("tc_cfree"),
	FREE("tc_free_sized"),
	FREE("tc_delete"),
	FREE("tc_deletearray"),
	FREE("tc_delete_sized"),
	FREE("tc_deletearray_sized"),
	FREE("tc_delete_nothrow"),
	FREE("tc_deletearray_nothrow"),
	FREE("tc_delete_aligned"),
	FREE("tc_deletearray_aligned"),
	FREE("tc_delete_sized_aligned"),
	FREE("tc_deletearray_sized_aligned"),
	FREE("tc_delete_aligned_nothrow"),
	FREE("tc_deletearray_aligned_nothrow"),
	{0},
};

/*
 * In mimalloc the alignment follows the size, except in the functions named as in POSIX
 * and C. *_reallocf and mi_reallocarr are left out: they call functions of this table,
 * and free the block themselves on failure. docs/limitations.md, "Allocators and their
 * functions", has the others. mi_expand() returns the block or NULL. As numbers, these
 * are at least and less than the size asked for, as EFFECT_RESIZE needs.
 */
static const struct alloc_function mimalloc_functions[] = {
	ALLOC("mi_malloc", 0),
	FREE("mi_free"),
	ALLOC_N("mi_calloc", 0, 1),
	REALLOC("mi_realloc", 0, 1),
	RESIZE("mi_expand", 0, 1),
	ALLOC("mi_malloc_small", 0),
	ALLOC("mi_zalloc_small", 0),
	ALLOC("mi_zalloc", 0),
	ALLOC_N("mi_mallocn", 0, 1),
	REALLOC_N("mi_reallocn", 0, 1, 2),
	REALLOC("mi_rezalloc", 0, 1),
	REALLOC_N("mi_recalloc", 0, 1, 2),
	REALLOC_N("mi_reallocarray", 0, 1, 2),
	ALLOC("mi_malloc_aligned", 0),
	ALLOC("mi_malloc_aligned_at", 0),
	ALLOC("mi_zalloc_aligned", 0),
	ALLOC("mi_zalloc_aligned_at", 0),
	ALLOC_N("mi_calloc_aligned", 0, 1),
	ALLOC_N("mi_calloc_aligned_at", 0, 1),
	REALLOC("mi_realloc_aligned", 0, 1),
	REALLOC("mi_realloc_aligned_at", 0, 1),
	REALLOC("mi_rezalloc_aligned", 0, 1),
	REALLOC("mi_rezalloc_aligned_at", 0, 1),
	REALLOC_N("mi_recalloc_aligned", 0, 1, 2),
	REALLOC_N("mi_recalloc_aligned_at", 0, 1, 2),
	ALLOC("mi_heap_malloc", 1),
	ALLOC("mi_heap_zalloc", 1),
	ALLOC_N("mi_heap_calloc", 1, 2),
	ALLOC_N("mi_heap_mallocn", 1, 2),
	ALLOC("mi_heap_malloc_small", 1),
	REALLOC("mi_heap_realloc", 1, 2),
	REALLOC_N("mi_heap_reallocn", 1, 2, 3),
	REALLOC("mi_heap_rezalloc", 1, 2),
	REALLOC_N("mi_heap_recalloc", 1, 2, 3),
	ALLOC("mi_heap_malloc_aligned", 1),
	ALLOC("mi_heap_malloc_aligned_at", 1),
	ALLOC("mi_heap_zalloc_aligned", 1),
	ALLOC("mi_heap_zalloc_aligned_at", 1),
	ALLOC_N("mi_heap_calloc_aligned", 1, 2),
	ALLOC_N("mi_heap_calloc_aligned_at", 1, 2),
	REALLOC("mi_heap_realloc_aligned", 1, 2),
	REALLOC("mi_heap_realloc_aligned_at", 1, 2),
	REALLOC("mi_heap_rezalloc_aligned", 1, 2),
	REALLOC("mi_heap_rezalloc_aligned_at", 1, 2),
	REALLOC_N("mi_heap_recalloc_aligned", 1, 2, 3),
	REALLOC_N("mi_heap_recalloc_aligned_at", 1, 2, 3),
	{"mi_posix_memalign", EFFECT_ALLOC_OUT, 2, NONE, NONE, 0, false, false},
	ALLOC("mi_memalign", 1),
	ALLOC("mi_aligned_alloc", 1),
	ALLOC("mi_valloc", 0),
	ALLOC("mi_pvalloc", 0),
	ALLOC("mi_new", 0),
	ALLOC("mi_new_aligned", 0),
	ALLOC("mi_new_nothrow", 0),
	ALLOC("mi_new_aligned_nothrow", 0),
	ALLOC_N("mi_new_n", 0, 1),
	REALLOC("mi_new_realloc", 0, 1),
	REALLOC_N("mi_new_reallocn", 0, 1, 2),
	ALLOC("mi_heap_alloc_new", 1),
	ALLOC_N("mi_heap_alloc_new_n", 1, 2),
	FREE("mi_cfree"),
	FREE("mi_free_size"),
	FREE("mi_free_size_aligned"),
	FREE("mi_free_aligned"),
	{0},
};

#define ALIGNED "St11align_val_t"
#define NOTHROW "RKSt9nothrow_t"
#define HOTCOLD "12__hot_cold_t" /* Google's tcmalloc, and clang with -fmemprof-use */

static const struct alloc_function operator_functions[] = {
	ALLOC("_Znwm", 0),
	FREE("_ZdlPv"),
	ALLOC("_Znam", 0),
	FREE("_ZdaPv"),
	FREE("_ZdlPvm"),
	FREE("_ZdaPvm"),
	ALLOC("_Znwm" ALIGNED, 0),
	ALLOC("_Znam" ALIGNED, 0),
	ALLOC("_Znwm" NOTHROW, 0),
	ALLOC("_Znam" NOTHROW, 0),
	ALLOC("_Znwm" ALIGNED NOTHROW, 0),
	ALLOC("_Znam" ALIGNED NOTHROW, 0),
	ALLOC("_Znwm" HOTCOLD, 0),
	ALLOC("_Znam" HOTCOLD, 0),
	ALLOC("_Znwm" NOTHROW HOTCOLD, 0),
	ALLOC("_Znam" NOTHROW HOTCOLD, 0),
	ALLOC("_Znwm" ALIGNED HOTCOLD, 0),
	ALLOC("_Znam" ALIGNED HOTCOLD, 0),
	ALLOC("_Znwm" ALIGNED NOTHROW HOTCOLD, 0),
	ALLOC("_Znam" ALIGNED NOTHROW HOTCOLD, 0),
	FREE("_ZdlPv" ALIGNED),
	FREE("_ZdaPv" ALIGNED),
	FREE("_ZdlPvm" ALIGNED),
	FREE("_ZdaPvm" ALIGNED),
	FREE("_ZdlPv" NOTHROW),
	FREE("_ZdaPv" NOTHROW),
	FREE("_ZdlPv" ALIGNED NOTHROW),
	FREE("_ZdaPv" ALIGNED NOTHROW),
	{0},
};

/*
 * The functions that Rust's compiler calls for its global allocator: (size, align),
 * (ptr, size, align) and (ptr, old size, align, new size). They call malloc or the
 * #[global_allocator]. They are a last resort, for a program whose allocator is
 * unknown. Since Rust 1.88 their names are mangled, so they are not found.
 */
static const struct alloc_function rust_functions[] = {
	ALLOC("__rust_alloc", 0),
	FREE("__rust_dealloc"),
	REALLOC("__rust_realloc", 0, 3),
	ALLOC("__rust_alloc_zeroed", 0),
	{0},
};

const struct alloc_family alloc_families[] = {
	[ALLOC_FAMILY_LIBC] = {"libc", "", FAMILY_PLAIN, libc_functions},
	{"jemalloc", "", FAMILY_EXTENSION, jemalloc_functions},
	{"mozjemalloc", "moz_arena_", FAMILY_EXTENSION, mozjemalloc_functions},
	{"tcmalloc", "tc_", FAMILY_NAMED, tcmalloc_functions},
	{"mimalloc", "mi_", FAMILY_NAMED, mimalloc_functions},
	{"jemalloc", "je_", FAMILY_NAMED, je_functions},
	{"jemalloc", "_rjem_", FAMILY_NAMED, rjem_functions},
	{"jemalloc", "je_arrow_", FAMILY_NAMED, arrow_functions},
#ifdef ALLOC_FAMILY_OF_TEST
	ALLOC_FAMILY_OF_TEST,
#endif
	{"C++ operators", "", FAMILY_OPERATORS, operator_functions},
	{"Rust", "", FAMILY_LAST_RESORT, rust_functions},
};

const size_t alloc_family_count = sizeof(alloc_families) / sizeof(*alloc_families);

_Static_assert(sizeof(alloc_families) / sizeof(*alloc_families) <= ALLOC_FAMILIES_MAX,
	       "raise it");

bool alloc_function_allocates(const struct alloc_function *function)
{
	return function->effect == EFFECT_ALLOC || function->effect == EFFECT_ALLOC_OUT ||
	       function->effect == EFFECT_REALLOC ||
	       function->effect == EFFECT_ALLOC_USDT;
}

bool alloc_function_frees(const struct alloc_function *function)
{
	return function->effect == EFFECT_FREE || function->effect == EFFECT_FREE_USDT;
}
