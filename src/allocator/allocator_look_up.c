// SPDX-License-Identifier: Apache-2.0
#include "allocator/allocator_look_up.h"

#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"

static const char *const markers[MARKER_COUNT] = {
	[MARKER_GLIBC] = "gnu_get_libc_version",
	[MARKER_GLIBC_STATIC] = "__libc_pvalloc",
	[MARKER_MUSL] = "__libc_malloc_impl",
	[MARKER_CXX_RUNTIME] = "_ZSt15get_new_handlerv",
};

/*
 * glibc's internal names for the functions that are hidden in statically linked
 * programs. Only glibc uses them, so they tell which of several functions of one name
 * is glibc's.
 */
static const struct {
	const char *name, *own;
} own_names[] = {
	{"malloc", "__libc_malloc"},
	{"free", "__libc_free"},
	{"calloc", "__libc_calloc"},
	{"realloc", "__libc_realloc"},
};

#define OWN_NAME_COUNT (sizeof(own_names) / sizeof(own_names[0]))

void allocator_scan_deinit(struct allocator_scan *scan)
{
	elf_file_close(scan->elf);
	free(scan->debug.path);
	vec_deinit(&scan->rows);
	free(scan->symbols);
	free(scan->prefixed);
}

static bool add_rows(struct allocator_scan *scan, const struct alloc_function *functions,
		     bool local_too, bool mapping_only)
{
	for (; functions->name; functions++) {
		const struct wanted_row row = {functions, local_too};

		if (mapping_only && !functions->mapping)
			continue;
		if (!vec_push(&scan->rows, row))
			return false;
	}
	return true;
}

static bool add_families(struct allocator_scan *scan)
{
	for (size_t i = 0; i < alloc_family_count; i++) {
		const struct alloc_family *family = &alloc_families[i];

		scan->families[i].begin = scan->rows.len;
		if (family->role == FAMILY_LAST_RESORT && !scan->file->last_resort)
			continue;
		if (!add_rows(scan, family->functions, *family->prefix, false))
			return false;
		scan->families[i].end = scan->rows.len;
	}
	return true;
}

/* The functions that may be built with a prefix: malloc and its family, and extensions
 * whose names have no prefix of their own. NULL: the family has none. */
static const struct alloc_function *prefixable(size_t family)
{
	const struct alloc_family *f = &alloc_families[family];
	bool may = f->role == FAMILY_PLAIN || f->role == FAMILY_EXTENSION;

	return may && !*f->prefix ? f->functions : NULL;
}

/* Copy the functions that may have a prefix, with this one before their names. One block
 * of memory holds the table and then the names. */
static struct alloc_function *make_prefixed(const char *prefix)
{
	size_t count = 1, bytes = 0, n = 0;

	for (size_t i = 0; i < alloc_family_count; i++)
		for (const struct alloc_function *f = prefixable(i); f && f->name;
		     f++, count++)
			bytes += strlen(prefix) + strlen(f->name) + 1;

	struct alloc_function *ret = calloc(1, count * sizeof(*ret) + bytes);
	char *names = ret ? (char *)(ret + count) : NULL;

	for (size_t i = 0; ret && i < alloc_family_count; i++) {
		for (const struct alloc_function *f = prefixable(i); f && f->name; f++) {
			if (f->mapping)
				continue;
			ret[n] = *f;
			ret[n++].name = names;
			names = stpcpy(stpcpy(names, prefix), f->name) + 1;
		}
	}
	return ret;
}

bool allocator_scan_choose(struct allocator_scan *scan)
{
	const char *prefix = scan->options->symbols_prefix;

	if (!prefix)
		return add_families(scan);
	scan->prefixed = make_prefixed(prefix);
	if (!scan->prefixed || !add_rows(scan, scan->prefixed, *prefix, false))
		return false;
	/* mmap has no prefix. */
	return !scan->options->mappings ||
	       add_rows(scan, alloc_families[ALLOC_FAMILY_LIBC].functions, false, true);
}

/*
 * Is a local symbol with a plain name a function of the file's allocator? ld makes
 * hidden functions local in shared and position-independent output, lld in every
 * output. In a static PIE with glibc, for instance, malloc is local; free and the
 * others are not. A static function that happens to have such a name is found in files
 * that import malloc, or that define none of the others.
 */
static bool has_own(const struct allocator_scan *scan, struct row_range plain)
{
	bool ret = scan->file->is_named;

	for (size_t i = plain.begin; i < plain.end; i++) {
		const struct alloc_function *f = scan->rows.data[i].function;

		if (f->common && scan->symbols[i].is_imported)
			return false;
		if (!f->mapping && scan->symbols[i].name && !scan->symbols[i].is_local)
			ret = true;
	}
	return ret;
}

/* Choose one of several local functions of the same name. */
static void choose_own(const struct allocator_scan *scan, struct elf_symbol *symbol)
{
	const struct elf_symbol *own = scan->symbols + scan->rows.len + MARKER_COUNT;
	const char *name = symbol->name;

	symbol->name = NULL;
	for (size_t i = 0; i < OWN_NAME_COUNT; i++)
		if (!strcmp(own_names[i].name, name) && own[i].name &&
		    !own[i].is_ambiguous) {
			*symbol = own[i];
			symbol->name = name;
		}
}

/* Is the symbol at the address of a global function of libc's family? */
static bool is_alias(const struct allocator_scan *scan, struct row_range plain,
		     const struct elf_symbol *symbol)
{
	const struct elf_symbol *own = scan->symbols + scan->rows.len + MARKER_COUNT;

	for (size_t i = 0; i < OWN_NAME_COUNT; i++)
		if (own[i].name && own[i].address == symbol->address)
			return true;
	for (size_t i = plain.begin; i < plain.end; i++) {
		const struct elf_symbol *other = &scan->symbols[i];

		if (other->name && !other->is_local && other->address == symbol->address)
			return true;
	}
	return false;
}

static bool is_extension(const struct allocator_scan *scan, size_t row)
{
	for (size_t i = 0; i < alloc_family_count; i++)
		if (row_is_in(scan->families[i], row))
			return alloc_families[i].role == FAMILY_EXTENSION;
	return false;
}

/* Is the local symbol i a function of the allocator? A less common name may well belong
 * to an unrelated function of the file. */
static bool is_believed(const struct allocator_scan *scan, struct row_range plain,
			size_t i)
{
	if (is_extension(scan, i))
		return true;
	return row_is_in(plain, i) &&
	       (scan->file->is_named || scan->rows.data[i].function->common ||
		is_alias(scan, plain, &scan->symbols[i]));
}

static void settle_locals(struct allocator_scan *scan)
{
	struct row_range plain = scan->families[ALLOC_FAMILY_LIBC];

	scan->has_own = has_own(scan, plain);
	for (size_t i = 0; i < scan->rows.len; i++) {
		struct elf_symbol *symbol = &scan->symbols[i];

		if (!symbol->is_local || scan->rows.data[i].local_too)
			continue;
		if (!scan->has_own || !is_believed(scan, plain, i))
			symbol->name = NULL;
		else if (symbol->is_ambiguous)
			choose_own(scan, symbol);
	}
}

struct error *allocator_scan_look_up(struct allocator_scan *scan)
{
	size_t rows = scan->rows.len, count = rows + MARKER_COUNT + OWN_NAME_COUNT;
	_cleanup_(freep) const char **names = calloc(count, sizeof(*names));

	scan->symbols = calloc(count, sizeof(*scan->symbols));
	if (!names || !scan->symbols)
		return error_no_memory();
	for (size_t i = 0; i < rows; i++)
		names[i] = scan->rows.data[i].function->name;
	for (size_t i = 0; i < MARKER_COUNT; i++)
		names[rows + i] = markers[i];
	for (size_t i = 0; i < OWN_NAME_COUNT; i++)
		names[rows + MARKER_COUNT + i] = own_names[i].own;

	struct error *err =
		elf_file_find_functions(scan->elf, names, count, scan->symbols);

	if (!err)
		settle_locals(scan);
	return err;
}

bool allocator_scan_has(const struct allocator_scan *scan, enum marker marker)
{
	return scan->symbols[scan->rows.len + marker].name;
}
