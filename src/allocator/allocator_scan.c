// SPDX-License-Identifier: Apache-2.0
/* The allocators of one file. */
#include "allocator/allocator.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "allocator/allocator_look_up.h"
#include "allocator/allocator_otel.h"
#include "process/debug_file.h"
#include "process/target_elf.h"
#include "util/cleanup.h"
#include "util/path.h"
#include "util/strbuf.h"

/* Does the file define an allocating and a freeing function in this range? */
static bool is_complete(const struct allocator_scan *scan, struct row_range range)
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

static bool has_any(const struct allocator_scan *scan, struct row_range range)
{
	for (size_t i = range.begin; i < range.end; i++)
		if (scan->symbols[i].name)
			return true;
	return false;
}

/* Is any function of `range` at the address of a function of the allocator? */
static bool is_alias(const struct allocator_scan *scan, struct row_range range,
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

/* Does the file very likely define this function although its address was not found? */
static bool is_hidden(const struct allocator_scan *scan, size_t row)
{
	const char *name = scan->rows.data[row].function->name;

	if (!scan->has_own || !row_is_in(scan->families[ALLOC_FAMILY_LIBC], row))
		return false;
	return scan->symbols[row].is_ambiguous ||
	       (!scan->has_names && (!strcmp(name, "malloc") || !strcmp(name, "free")));
}

static struct error *extend(const struct allocator_scan *scan, struct row_range range,
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

/* Append an allocator with the functions of `range`. *ret is borrowed until the next
 * append. */
static struct error *add_allocator(const struct allocator_scan *scan,
				   struct row_range range, const char *label,
				   struct allocator **ret)
{
	const char *build_id = elf_file_build_id(scan->elf);
	struct allocator a = {
		.module_path = strdup(scan->file->module_path),
		.file = target_file_share(scan->file->file),
		.module_start = scan->file->module_start,
		.text_start = scan->file->text_start,
		.text_end = scan->file->text_end,
		.build_id = build_id ? strdup(build_id) : NULL,
		.debug_path = scan->debug.path ? strdup(scan->debug.path) : NULL,
		.has_targets_names = scan->debug.is_targets,
	};
	struct error *err = set_label(&a, label);

	if (!err)
		err = extend(scan, range, &a);
	if (!err &&
	    (!a.module_path || (build_id && !a.build_id) ||
	     (scan->debug.path && !a.debug_path) || !vec_push(&scan->ret->list, a)))
		err = error_no_memory();
	if (err)
		allocator_deinit(&a);
	else
		*ret = &scan->ret->list.data[scan->ret->list.len - 1];
	return err;
}

static const char *own_label(const struct allocator_scan *scan)
{
	return scan->file->is_executable ? "executable"
					 : path_base_name(scan->file->module_path);
}

static const char *plain_label(const struct allocator_scan *scan)
{
	if (allocator_scan_has(scan, MARKER_GLIBC) ||
	    (scan->file->is_executable && allocator_scan_has(scan, MARKER_GLIBC_STATIC)))
		return LABEL_GLIBC;
	/* A musl without a symbol table is recognized by its path. */
	if (allocator_scan_has(scan, MARKER_MUSL) ||
	    !fnmatch("*musl*", path_base_name(scan->file->module_path), 0) ||
	    !fnmatch("*-linux-musl/*", scan->file->module_path, 0))
		return "musl";
	return own_label(scan);
}

/*
 * Add the other families: to the allocator of the plain functions, if they are extensions
 * or aliases of these, or as allocators of their own. *ret_known is the index of the
 * first allocator known by name; unchanged if there is none.
 */
static struct error *add_known(const struct allocator_scan *scan, bool has_plain,
			       size_t plain, size_t *ret_known)
{
	struct error *err = NULL;

	for (size_t i = 0; i < alloc_family_count && !err; i++) {
		struct row_range range = scan->families[i];
		enum alloc_family_role role = alloc_families[i].role;
		const char *label = alloc_families[i].label;
		struct allocator *a = has_plain ? &scan->ret->list.data[plain] : NULL;
		size_t index = plain;

		if (role != FAMILY_NAMED && role != FAMILY_EXTENSION)
			continue;
		if (a && has_any(scan, range) &&
		    (role == FAMILY_EXTENSION || is_alias(scan, range, a))) {
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

static struct error *add_operators(const struct allocator_scan *scan, size_t family,
				   bool has_plain, size_t plain, size_t known)
{
	struct row_range range = scan->families[family];
	struct allocator *a;

	if (known != SIZE_MAX)
		return extend(scan, range, &scan->ret->list.data[known]);
	if (allocator_scan_has(scan, MARKER_CXX_RUNTIME) && !scan->file->is_named)
		return NULL;
	if (has_plain)
		return extend(scan, range, &scan->ret->list.data[plain]);
	return add_allocator(scan, range, own_label(scan), &a);
}

/* Add a family that add_known() leaves. */
static struct error *add_other(const struct allocator_scan *scan, size_t family,
			       bool has_plain, size_t plain, size_t known)
{
	struct allocator *a;

	if (!is_complete(scan, scan->families[family]))
		return NULL;
	switch (alloc_families[family].role) {
	case FAMILY_OPERATORS:
		return add_operators(scan, family, has_plain, plain, known);
	case FAMILY_LAST_RESORT:
		return add_allocator(scan, scan->families[family],
				     alloc_families[family].label, &a);
	default:
		return NULL;
	}
}

static struct error *group_families(const struct allocator_scan *scan)
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
	for (size_t i = 0; i < alloc_family_count && !err; i++)
		err = add_other(scan, i, has_plain, plain, known);
	return err;
}

static struct error *group_prefixed(struct allocator_scan *scan)
{
	struct row_range all = {0, scan->rows.len};
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

/* Name the functions that an incomplete allocator has, and the kind it lacks. */
static struct error *explain_half(const struct allocator_scan *scan, char **ret)
{
	struct row_range plain = scan->families[ALLOC_FAMILY_LIBC];
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
				   : " and no free: it never frees its blocks");
	*ret = strbuf_steal(&text);
	return *ret ? NULL : error_no_memory();
}

/* Say that the file is stripped and how to get its symbols. */
static struct error *explain_stripped(const struct allocator_scan *scan, char **ret)
{
	const char *id = elf_file_build_id(scan->elf);
	/* With is_shared, the target's own debug files are not read: docs/security.md. */
	const char *where = scan->options->is_shared
				    ? "below /usr/lib/debug, where it must be because "
				      "other processes are probed, too"
				    : "there";
	_cleanup_(strbuf_deinit) struct strbuf text = {0};

	strbuf_appendf(&text, "%s is stripped: it has no symbol table",
		       scan->file->module_path);
	if (id && strlen(id) > 2)
		strbuf_appendf(&text,
			       ", and neither /usr/lib/debug/.build-id/%.2s/%s.debug nor "
			       "another debug file of it is %s: install its debug "
			       "symbols (its -dbgsym or -debuginfo package)",
			       id, id + 2, where);
	else
		strbuf_appendf(&text,
			       ", no build-id, and no debug file that belongs to it is "
			       "%s: put the output of objcopy --only-keep-debug %s",
			       where, scan->options->is_shared ? "there" : "beside it");
	*ret = strbuf_steal(&text);
	return *ret ? NULL : error_no_memory();
}

static bool has_half(const struct allocator_scan *scan)
{
	struct row_range plain = scan->families[ALLOC_FAMILY_LIBC];

	for (size_t i = plain.begin; i < plain.end; i++)
		if (scan->symbols[i].name && !scan->rows.data[i].function->mapping)
			return true;
	return false;
}

struct error *allocators_scan(const struct allocator_file *file,
			      const struct allocator_options *options,
			      struct allocators *ret, char **why_none)
{
	_cleanup_(allocator_scan_deinit) struct allocator_scan scan = {
		.file = file, .options = options, .ret = ret};
	size_t before = ret->list.len;
	struct error *err = target_elf_open(file->file, &scan.elf);

	*why_none = NULL;
	if (err)
		return err;
	if (options->otel)
		return allocator_otel_scan(file, scan.elf, ret);

	scan.has_names = debug_file_is_needless(scan.elf);
	if (!scan.has_names && (file->is_executable || file->is_named))
		err = debug_file_find(scan.elf, file->debug_proc, file->module_path,
				      &scan.debug);
	scan.has_names = scan.has_names || scan.debug.path;
	if (!err && !allocator_scan_choose(&scan))
		err = error_no_memory();
	if (!err)
		err = allocator_scan_look_up(&scan);
	if (!err)
		err = options->symbols_prefix ? group_prefixed(&scan)
					      : group_families(&scan);
	if (err || ret->list.len != before)
		return err;
	if (!scan.has_names)
		return explain_stripped(&scan, why_none);
	return has_half(&scan) ? explain_half(&scan, why_none) : NULL;
}
