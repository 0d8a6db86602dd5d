// SPDX-License-Identifier: Apache-2.0
/* The allocators of one file. */
#include "target/allocator.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "target/allocator_otel.h"
#include "target/debug_file.h"
#include "util/cleanup.h"
#include "util/path.h"
#include "util/strbuf.h"

/* A function that is looked for. */
struct row {
	const struct alloc_function *function;
	bool local_too; /* a local symbol will do: the name is nobody else's */
};

/* Functions that say whose code a file is. */
enum marker {
	MARKER_GLIBC,
	MARKER_GLIBC_STATIC, /* linked with its malloc at least */
	MARKER_MUSL,
	MARKER_CXX_RUNTIME, /* libstdc++, libc++: their operators call malloc */
	MARKER_COUNT,
};

static const char *const markers[MARKER_COUNT] = {
	[MARKER_GLIBC] = "gnu_get_libc_version",
	[MARKER_GLIBC_STATIC] = "__libc_pvalloc",
	[MARKER_MUSL] = "__libc_malloc_impl",
	[MARKER_CXX_RUNTIME] = "_ZSt15get_new_handlerv",
};

struct range {
	size_t begin, end; /* of rows */
};

struct scan {
	const struct allocator_file *file;
	const struct allocator_options *options;
	struct elf_file *elf;
	char *debug_path;
	VEC(struct row) rows;
	struct elf_symbol *symbols; /* of the rows, then of the markers */
	struct range families[ALLOC_FAMILY_COUNT];
	struct alloc_function *prefixed;
	struct allocators *ret;
};

static void scan_deinit(struct scan *scan)
{
	elf_file_close(scan->elf);
	free(scan->debug_path);
	vec_deinit(&scan->rows);
	free(scan->symbols);
	free(scan->prefixed);
}

/* --- what is looked for ------------------------------------------------------------ */

static bool add_rows(struct scan *scan, const struct alloc_function *functions,
		     bool local_too, bool mapping_only)
{
	for (; functions->name; functions++) {
		const struct row row = {functions, local_too};

		if (mapping_only && !functions->mapping)
			continue;
		if (!vec_push(&scan->rows, row))
			return false;
	}
	return true;
}

static bool add_families(struct scan *scan)
{
	for (size_t i = 0; i < ALLOC_FAMILY_COUNT; i++) {
		const struct alloc_family *family = &alloc_families[i];

		scan->families[i].begin = scan->rows.len;
		if (i == ALLOC_FAMILY_RUST && !scan->file->last_resort)
			continue;
		if (!add_rows(scan, family->functions, *family->prefix, false))
			return false;
		scan->families[i].end = scan->rows.len;
	}
	return true;
}

/* The functions of libc and jemalloc with the prefix before their names: one block of
 * memory, the names behind the table. */
static struct alloc_function *make_prefixed(const char *prefix)
{
	static const enum alloc_family_id ids[] = {ALLOC_FAMILY_LIBC,
						   ALLOC_FAMILY_JEMALLOC};
	size_t count = 1, bytes = 0, n = 0;

	for (size_t i = 0; i < 2; i++)
		for (const struct alloc_function *f = alloc_families[ids[i]].functions;
		     f->name; f++, count++)
			bytes += strlen(prefix) + strlen(f->name) + 1;

	struct alloc_function *ret = calloc(1, count * sizeof(*ret) + bytes);
	char *names = ret ? (char *)(ret + count) : NULL;

	for (size_t i = 0; ret && i < 2; i++) {
		for (const struct alloc_function *f = alloc_families[ids[i]].functions;
		     f->name; f++) {
			if (f->mapping)
				continue;
			ret[n] = *f;
			ret[n++].name = names;
			names = stpcpy(stpcpy(names, prefix), f->name) + 1;
		}
	}
	return ret;
}

static bool choose_rows(struct scan *scan)
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

static struct error *look_up(struct scan *scan)
{
	size_t count = scan->rows.len + MARKER_COUNT;
	_cleanup_(freep) const char **names = calloc(count, sizeof(*names));

	scan->symbols = calloc(count, sizeof(*scan->symbols));
	if (!names || !scan->symbols)
		return error_no_memory();
	for (size_t i = 0; i < count; i++)
		names[i] = i < scan->rows.len ? scan->rows.data[i].function->name
					      : markers[i - scan->rows.len];

	struct error *err =
		elf_file_find_functions(scan->elf, names, count, scan->symbols);

	for (size_t i = 0; !err && i < scan->rows.len; i++)
		if (scan->symbols[i].is_local && !scan->rows.data[i].local_too)
			scan->symbols[i].name = NULL;
	return err;
}

static bool has_marker(const struct scan *scan, enum marker marker)
{
	return scan->symbols[scan->rows.len + marker].name;
}

/* --- what it amounts to ------------------------------------------------------------ */

/* Does the file define an allocating and a freeing function of these? */
static bool is_complete(const struct scan *scan, struct range range)
{
	bool allocates = false, frees = false;

	for (size_t i = range.begin; i < range.end; i++) {
		const struct alloc_function *f = scan->rows.data[i].function;

		if (!scan->symbols[i].name)
			continue;
		allocates = allocates || alloc_function_allocates(f);
		frees = frees || f->effect == EFFECT_FREE;
	}
	return allocates && frees;
}

static bool has_any(const struct scan *scan, struct range range)
{
	for (size_t i = range.begin; i < range.end; i++)
		if (scan->symbols[i].name)
			return true;
	return false;
}

/* Are functions of `range` other names of functions of the allocator? */
static bool is_alias(const struct scan *scan, struct range range,
		     const struct allocator *allocator)
{
	for (size_t i = range.begin; i < range.end; i++)
		vec_foreach (f, &allocator->functions)
			if (scan->symbols[i].name &&
			    scan->symbols[i].address == f->symbol.address)
				return true;
	return false;
}

static struct error *set_label(struct allocator *allocator, const char *label)
{
	char *copy = strdup(label);

	if (!copy)
		return error_no_memory();
	free(allocator->label);
	allocator->label = copy;
	return NULL;
}

static struct error *extend(const struct scan *scan, struct range range,
			    struct allocator *allocator)
{
	for (size_t i = range.begin; i < range.end; i++) {
		const struct allocator_function found = {
			.function = scan->rows.data[i].function,
			.symbol = scan->symbols[i],
		};

		if (!found.symbol.name && !found.function->common)
			continue;
		if (found.symbol.name ? !vec_push(&allocator->functions, found)
				      : !vec_push(&allocator->missing, found.function))
			return error_no_memory();
	}
	return NULL;
}

/* A new allocator with these functions. Borrowed until the next one. */
static struct error *add_allocator(const struct scan *scan, struct range range,
				   const char *label, struct allocator **ret)
{
	const char *build_id = elf_file_build_id(scan->elf);
	struct allocator a = {
		.module_path = strdup(scan->file->module_path),
		.open_path = strdup(scan->file->open_path),
		.module_start = scan->file->module_start,
		.text_start = scan->file->text_start,
		.text_end = scan->file->text_end,
		.build_id = build_id ? strdup(build_id) : NULL,
		.debug_path = scan->debug_path ? strdup(scan->debug_path) : NULL,
	};
	struct error *err = set_label(&a, label);

	if (!err)
		err = extend(scan, range, &a);
	if (!err &&
	    (!a.module_path || !a.open_path || (build_id && !a.build_id) ||
	     (scan->debug_path && !a.debug_path) || !vec_push(&scan->ret->list, a)))
		err = error_no_memory();
	if (err)
		allocator_deinit(&a);
	else
		*ret = &scan->ret->list.data[scan->ret->list.len - 1];
	return err;
}

static const char *own_label(const struct scan *scan)
{
	return scan->file->is_executable ? "executable"
					 : path_base_name(scan->file->module_path);
}

static const char *plain_label(const struct scan *scan)
{
	if (has_marker(scan, MARKER_GLIBC) ||
	    (scan->file->is_executable && has_marker(scan, MARKER_GLIBC_STATIC)))
		return "glibc";
	/* A musl without a symbol table is told by its path. */
	if (has_marker(scan, MARKER_MUSL) ||
	    !fnmatch("*musl*", path_base_name(scan->file->module_path), 0) ||
	    !fnmatch("*-linux-musl/*", scan->file->module_path, 0))
		return "musl";
	return own_label(scan);
}

/*
 * The other families: more names of the plain functions, or allocators beside them. The
 * first that is known by name goes to *ret_known, as an index.
 */
static struct error *add_known(const struct scan *scan, bool has_plain, size_t plain,
			       size_t *ret_known)
{
	static const enum alloc_family_id ids[] = {
		ALLOC_FAMILY_JEMALLOC, ALLOC_FAMILY_TCMALLOC, ALLOC_FAMILY_MIMALLOC,
		ALLOC_FAMILY_JE,       ALLOC_FAMILY_RJEM,     ALLOC_FAMILY_ARROW,
	};
	struct error *err = NULL;

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]) && !err; i++) {
		struct range range = scan->families[ids[i]];
		const char *label = alloc_families[ids[i]].label;
		struct allocator *a = has_plain ? &scan->ret->list.data[plain] : NULL;
		size_t index = plain;

		/* mallocx without a prefix is that of the jemalloc whose malloc has none.
		 */
		if (a && has_any(scan, range) &&
		    (ids[i] == ALLOC_FAMILY_JEMALLOC || is_alias(scan, range, a))) {
			err = set_label(a, label);
			if (!err)
				err = extend(scan, range, a);
		} else if (is_complete(scan, range)) {
			index = scan->ret->list.len;
			err = add_allocator(scan, range, label, &a);
		} else {
			continue;
		}
		if (*ret_known == SIZE_MAX)
			*ret_known = index;
	}
	return err;
}

static struct error *add_operators(const struct scan *scan, bool has_plain, size_t plain,
				   size_t known)
{
	struct range range = scan->families[ALLOC_FAMILY_OPERATORS];
	struct allocator *a;

	if (!is_complete(scan, range))
		return NULL;
	if (known != SIZE_MAX)
		return extend(scan, range, &scan->ret->list.data[known]);
	if (has_marker(scan, MARKER_CXX_RUNTIME) && !scan->file->is_named)
		return NULL;
	if (has_plain)
		return extend(scan, range, &scan->ret->list.data[plain]);
	return add_allocator(scan, range, own_label(scan), &a);
}

static struct error *group_families(const struct scan *scan)
{
	bool has_plain = is_complete(scan, scan->families[ALLOC_FAMILY_LIBC]);
	size_t plain = scan->ret->list.len, known = SIZE_MAX;
	struct error *err = NULL;
	struct allocator *a;

	if (has_plain)
		err = add_allocator(scan, scan->families[ALLOC_FAMILY_LIBC],
				    plain_label(scan), &a);
	if (!err)
		err = add_known(scan, has_plain, plain, &known);
	if (!err)
		err = add_operators(scan, has_plain, plain, known);
	if (!err && is_complete(scan, scan->families[ALLOC_FAMILY_RUST]))
		err = add_allocator(scan, scan->families[ALLOC_FAMILY_RUST],
				    alloc_families[ALLOC_FAMILY_RUST].label, &a);
	return err;
}

static struct error *group_prefixed(struct scan *scan)
{
	struct range all = {0, scan->rows.len};
	bool maps = false;
	struct allocator *a;

	for (size_t i = 0; i < scan->rows.len; i++)
		maps = maps ||
		       (scan->symbols[i].name && scan->rows.data[i].function->mapping);
	if (!is_complete(scan, all)) {
		if (!maps)
			return NULL;
		/* Only the mapping functions, which are the last rows. */
		while (!scan->rows.data[all.begin].function->mapping)
			all.begin++;
	}

	struct error *err = add_allocator(scan, all, own_label(scan), &a);

	if (!err)
		a->prefixed = take(scan->prefixed);
	return err;
}

/* --- one file ---------------------------------------------------------------------- */

/* What to say of a file in which there are no names to find. */
static struct error *explain_stripped(const struct scan *scan, char **ret)
{
	const char *id = elf_file_build_id(scan->elf);
	_cleanup_(strbuf_deinit) struct strbuf text = {0};

	strbuf_appendf(&text, "%s is stripped: it has no symbol table",
		       scan->file->module_path);
	if (id && strlen(id) > 2)
		strbuf_appendf(&text,
			       ", and neither /usr/lib/debug/.build-id/%.2s/%s.debug nor "
			       "another debug file of it is there: install its debug "
			       "symbols (its -dbgsym or -debuginfo package)",
			       id, id + 2);
	else
		strbuf_append(&text,
			      ", no build-id, and no debug file that belongs to it: put "
			      "the one that it was stripped into beside it");
	*ret = strbuf_steal(&text);
	return *ret ? NULL : error_no_memory();
}

struct error *allocators_scan(const struct allocator_file *file,
			      const struct allocator_options *options,
			      struct allocators *ret, char **stripped)
{
	_cleanup_(scan_deinit) struct scan scan = {
		.file = file, .options = options, .ret = ret};
	size_t before = ret->list.len;
	struct error *err = elf_file_open(file->open_path, &scan.elf);

	*stripped = NULL;
	if (err)
		return err;
	if (options->otel)
		return allocator_otel_scan(file, scan.elf, ret);

	bool has_names = debug_file_is_needless(scan.elf);

	if (!has_names && (file->is_executable || file->is_named))
		err = debug_file_find(scan.elf, file->pid, file->module_path,
				      &scan.debug_path);
	if (!err && !choose_rows(&scan))
		err = error_no_memory();
	if (!err)
		err = look_up(&scan);
	if (!err)
		err = options->symbols_prefix ? group_prefixed(&scan)
					      : group_families(&scan);
	if (!err && ret->list.len == before && !has_names && !scan.debug_path)
		err = explain_stripped(&scan, stripped);
	return err;
}

void allocator_deinit(struct allocator *allocator)
{
	free(allocator->module_path);
	free(allocator->open_path);
	free(allocator->label);
	free(allocator->build_id);
	free(allocator->debug_path);
	free(allocator->prefixed);
	vec_deinit(&allocator->functions);
	vec_deinit(&allocator->missing);
	*allocator = (struct allocator){0};
}

void allocators_deinit(struct allocators *allocators)
{
	vec_foreach (allocator, &allocators->list)
		allocator_deinit(allocator);
	vec_deinit(&allocators->list);
}
