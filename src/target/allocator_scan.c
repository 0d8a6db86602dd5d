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

/*
 * glibc's other names of the functions that it hides from the programs that it is linked
 * into. They are nobody else's, so they say which one of several it is.
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

struct range {
	size_t begin, end; /* of rows */
};

struct scan {
	const struct allocator_file *file;
	const struct allocator_options *options;
	struct elf_file *elf;
	char *debug_path;
	VEC(struct row) rows;
	struct elf_symbol *symbols; /* of the rows, the markers, the own_names */
	struct range families[ALLOC_FAMILY_COUNT];
	bool has_own;   /* hidden functions with plain names are the file's allocator */
	bool has_names; /* all its functions have symbols that can be seen */
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

/*
 * Does a local symbol with a plain name stand for a function of the file's allocator? ld
 * makes hidden functions local in what can be loaded anywhere, lld in all that it links:
 * malloc is one of them in a static PIE with glibc, free and the others are not. Static
 * functions that happen to have such a name are in files that take malloc from elsewhere,
 * or that have none of the others.
 */
static bool has_own(const struct scan *scan, struct range plain)
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

/* One of several local functions of the same name. */
static void choose_own(const struct scan *scan, struct elf_symbol *symbol)
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

static bool is_in(struct range range, size_t i)
{
	return i >= range.begin && i < range.end;
}

static void settle_locals(struct scan *scan)
{
	struct range plain = scan->families[ALLOC_FAMILY_LIBC];

	scan->has_own = has_own(scan, plain);
	for (size_t i = 0; i < scan->rows.len; i++) {
		struct elf_symbol *symbol = &scan->symbols[i];

		if (!symbol->is_local || scan->rows.data[i].local_too)
			continue;
		if (!scan->has_own ||
		    !(is_in(plain, i) || is_in(scan->families[ALLOC_FAMILY_JEMALLOC], i)))
			symbol->name = NULL;
		else if (symbol->is_ambiguous)
			choose_own(scan, symbol);
	}
}

static struct error *look_up(struct scan *scan)
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

/* Is a function that was not found there all the same, as far as can be seen? */
static bool is_hidden(const struct scan *scan, size_t row)
{
	const char *name = scan->rows.data[row].function->name;

	if (!scan->has_own || !is_in(scan->families[ALLOC_FAMILY_LIBC], row))
		return false;
	return scan->symbols[row].is_ambiguous ||
	       (!scan->has_names && (!strcmp(name, "malloc") || !strcmp(name, "free")));
}

static struct error *extend(const struct scan *scan, struct range range,
			    struct allocator *allocator)
{
	for (size_t i = range.begin; i < range.end; i++) {
		const struct allocator_function found = {
			.function = scan->rows.data[i].function,
			.symbol = scan->symbols[i],
		};

		if (!found.symbol.name && is_hidden(scan, i) &&
		    !vec_push(&allocator->hidden, found.function))
			return error_no_memory();
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

/* Half an allocator: what there is of it, and what there is not. */
static struct error *explain_half(const struct scan *scan, char **ret)
{
	struct range plain = scan->families[ALLOC_FAMILY_LIBC];
	_cleanup_(strbuf_deinit) struct strbuf text = {0};
	bool frees = false;

	strbuf_appendf(&text, "%s has ", scan->file->module_path);
	for (size_t i = plain.begin, n = 0; i < plain.end; i++) {
		const struct alloc_function *f = scan->rows.data[i].function;

		if (!scan->symbols[i].name || f->mapping)
			continue;
		frees = frees || alloc_function_frees(f);
		strbuf_appendf(&text, "%s%s", n++ ? ", " : "", f->name);
	}
	strbuf_append(&text, frees ? " and no function that allocates"
				   : " and no free: what it allocates it never frees");
	*ret = strbuf_steal(&text);
	return *ret ? NULL : error_no_memory();
}

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

static bool has_half(const struct scan *scan)
{
	struct range plain = scan->families[ALLOC_FAMILY_LIBC];

	for (size_t i = plain.begin; i < plain.end; i++)
		if (scan->symbols[i].name && !scan->rows.data[i].function->mapping)
			return true;
	return false;
}

struct error *allocators_scan(const struct allocator_file *file,
			      const struct allocator_options *options,
			      struct allocators *ret, char **why_none)
{
	_cleanup_(scan_deinit) struct scan scan = {
		.file = file, .options = options, .ret = ret};
	size_t before = ret->list.len;
	struct error *err = elf_file_open(file->open_path, &scan.elf);

	*why_none = NULL;
	if (err)
		return err;
	if (options->otel)
		return allocator_otel_scan(file, scan.elf, ret);

	scan.has_names = debug_file_is_needless(scan.elf);
	if (!scan.has_names && (file->is_executable || file->is_named))
		err = debug_file_find(scan.elf, file->pid, file->module_path,
				      &scan.debug_path);
	scan.has_names = scan.has_names || scan.debug_path;
	if (!err && !choose_rows(&scan))
		err = error_no_memory();
	if (!err)
		err = look_up(&scan);
	if (!err)
		err = options->symbols_prefix ? group_prefixed(&scan)
					      : group_families(&scan);
	if (err || ret->list.len != before)
		return err;
	if (!scan.has_names)
		return explain_stripped(&scan, why_none);
	return has_half(&scan) ? explain_half(&scan, why_none) : NULL;
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
	vec_deinit(&allocator->hidden);
	*allocator = (struct allocator){0};
}

void allocators_deinit(struct allocators *allocators)
{
	vec_foreach (allocator, &allocators->list)
		allocator_deinit(allocator);
	vec_deinit(&allocators->list);
}
