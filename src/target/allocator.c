// SPDX-License-Identifier: Apache-2.0
#include "target/allocator.h"

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "target/elf.h"
#include "target/maps.h"
#include "util/cleanup.h"
#include "util/strbuf.h"

DEFINE_CLEANUP(struct elf_file *, elf_file_close);

#define NONE ARG_NONE

/* Argument orders: malloc(3), posix_memalign(3), mmap(2), mremap(2); free_sized and
 * free_aligned_sized are C23 (7.24.3). cfree lives on in glibc for old programs. */
const struct alloc_function alloc_libc_functions[] = {
	/* name, effect, size, count, old, out, required, mapping */
	{"malloc", EFFECT_ALLOC, 0, NONE, NONE, NONE, true, false},
	{"free", EFFECT_FREE, NONE, NONE, 0, NONE, true, false},
	{"calloc", EFFECT_ALLOC, 1, 0, NONE, NONE, false, false},
	{"realloc", EFFECT_REALLOC, 1, NONE, 0, NONE, false, false},
	{"reallocarray", EFFECT_REALLOC, 2, 1, 0, NONE, false, false},
	{"posix_memalign", EFFECT_ALLOC_OUT, 2, NONE, NONE, 0, false, false},
	{"aligned_alloc", EFFECT_ALLOC, 1, NONE, NONE, NONE, false, false},
	{"memalign", EFFECT_ALLOC, 1, NONE, NONE, NONE, false, false},
	{"valloc", EFFECT_ALLOC, 0, NONE, NONE, NONE, false, false},
	{"pvalloc", EFFECT_ALLOC, 0, NONE, NONE, NONE, false, false},
	{"cfree", EFFECT_FREE, NONE, NONE, 0, NONE, false, false},
	{"free_sized", EFFECT_FREE, NONE, NONE, 0, NONE, false, false},
	{"free_aligned_sized", EFFECT_FREE, NONE, NONE, 0, NONE, false, false},
	{"mmap", EFFECT_MAP, 1, NONE, NONE, NONE, false, true},
	{"mmap64", EFFECT_MAP, 1, NONE, NONE, NONE, false, true},
	{"munmap", EFFECT_UNMAP, 1, NONE, 0, NONE, false, true},
	{"mremap", EFFECT_REMAP, 2, NONE, 0, NONE, false, true},
	{0},
};

/* Files that are a libc: glibc 2.34 and later, older glibc, musl under its Alpine and
 * its upstream names. */
static const char *const libc_names[] = {
	"libc.so.6", "libc-2.*.so", "libc.musl-*.so.1", "ld-musl-*.so.1", "libc.so",
};

/* glibc's dynamic linkers before 2.32 export a malloc and a free of their own for the
 * time before libc is there. One of them is the executable when a program is started as
 * `ld.so PROGRAM`. */
static const char *const linker_names[] = {
	"ld-linux*.so.*",
	"ld-2.*.so",
	"ld64.so.*",
};

/* One file that the process has mapped executable. */
struct module {
	const struct proc_mapping *code; /* its first executable mapping */
	uint64_t code_end;               /* of its last executable mapping */
	uint64_t start;                  /* its lowest address */
};

struct modules {
	VEC(struct module) list; /* in address order */
};

/* Bounds on what a message lists and on how many files are opened to make it. */
#define LISTED_MAX 5
#define OPENED_MAX 256

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_one_of(const char *path, const char *const patterns[], size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!fnmatch(patterns[i], base_name(path), 0))
			return true;
	return false;
}

#define IS_ONE_OF(path, patterns)                                                        \
	is_one_of(path, patterns, sizeof(patterns) / sizeof((patterns)[0]))

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_files(const struct proc_mapping *a, const struct proc_mapping *b)
{
	int order = compare(a->inode, b->inode);

	if (!order)
		order = compare(a->dev_major, b->dev_major);
	return order ? order : compare(a->dev_minor, b->dev_minor);
}

static int by_file(const void *pa, const void *pb)
{
	const struct proc_mapping *a = *(const struct proc_mapping *const *)pa,
				  *b = *(const struct proc_mapping *const *)pb;
	int order = compare_files(a, b);

	return order ? order : compare(a->start, b->start);
}

static int by_start(const void *pa, const void *pb)
{
	const struct module *a = pa, *b = pb;

	return compare(a->start, b->start);
}

/* Sorting, as a hostile target may map tens of thousands of files. */
static struct error *list_modules(const struct proc_maps *maps, struct modules *ret)
{
	size_t n = 0;
	_cleanup_(freep) const struct proc_mapping **files =
		calloc(maps->mappings.len + 1, sizeof(*files));

	if (!files)
		return error_no_memory();
	for (size_t i = 0; i < maps->mappings.len; i++) {
		const struct proc_mapping *m = &maps->mappings.data[i];

		if (m->path[0] == '/' && m->inode)
			files[n++] = m;
	}
	qsort(files, n, sizeof(*files), by_file);

	for (size_t i = 0; i < n;) {
		struct module module = {.start = files[i]->start};
		size_t first = i;

		for (; i < n && !compare_files(files[first], files[i]); i++)
			if (files[i]->executable) {
				module.code = module.code ? module.code : files[i];
				module.code_end = files[i]->end;
			}
		if (module.code && !vec_push(&ret->list, module))
			return error_no_memory();
	}
	if (ret->list.len)
		qsort(ret->list.data, ret->list.len, sizeof(struct module), by_start);
	return NULL;
}

static void modules_deinit(struct modules *modules)
{
	vec_deinit(&modules->list);
}

/*
 * Does the file define malloc, and with `free_too` also free? One that is no good or
 * that we may not open defines nothing.
 */
static struct error *defines_malloc(const char *path, bool free_too, bool *ret)
{
	static const char *const names[] = {"malloc", "free"};
	_cleanup_(error_destroyp) struct error *err = NULL;
	_cleanup_(elf_file_closep) struct elf_file *file = NULL;
	struct elf_symbol symbols[2];

	*ret = false;
	err = elf_file_open(path, &file);
	if (!err)
		err = elf_file_find_functions(file, names, 2, symbols);
	if (!err)
		*ret = symbols[0].name && (!free_too || symbols[1].name);
	return err && err->code == ERROR_NO_MEMORY ? take(err) : NULL;
}

static struct error *found(const struct proc *proc, const struct module *module,
			   struct allocator *ret)
{
	char *open_path, *module_path;
	struct error *err = proc_mapping_path(proc, module->code, &open_path);

	if (err)
		return err;
	module_path = strdup(module->code->path);
	if (!module_path) {
		free(open_path);
		return error_no_memory();
	}
	*ret = (struct allocator){
		.module_path = module_path,
		.open_path = open_path,
		.module_start = module->start,
		.text_start = module->code->start,
		.text_end = module->code_end,
	};
	return NULL;
}

/* A file that --lib names, in each way in which it may be the mapped one. */
struct wanted {
	const char *name;
	char *resolved; /* absolute and without symbolic links, or NULL */
	struct stat here, there;
	bool is_here, is_there; /* seen by us; below the target's root */
};

static bool same_file(const struct stat *st, const struct proc_mapping *mapping)
{
	return st->st_ino == mapping->inode && major(st->st_dev) == mapping->dev_major &&
	       minor(st->st_dev) == mapping->dev_minor;
}

static bool is_wanted(const struct wanted *wanted, const struct proc_mapping *mapping)
{
	if (!strchr(wanted->name, '/'))
		return !strcmp(wanted->name, base_name(mapping->path));
	return !strcmp(wanted->name, mapping->path) ||
	       (wanted->resolved && !strcmp(wanted->resolved, mapping->path)) ||
	       (wanted->is_here && same_file(&wanted->here, mapping)) ||
	       (wanted->is_there && same_file(&wanted->there, mapping));
}

static struct error *module_defines_malloc(const struct proc *proc,
					   const struct module *module, bool *ret)
{
	_cleanup_(freep) char *path = NULL;
	struct error *err = proc_mapping_path(proc, module->code, &path);

	*ret = false;
	if (!err)
		return defines_malloc(path, false, ret);
	if (err->code == ERROR_GONE || err->code == ERROR_NO_MEMORY)
		return err;
	error_destroy(err);
	return NULL;
}

static struct error *not_mapped(const struct proc *proc, const struct modules *modules,
				const char *library)
{
	_cleanup_(strbuf_deinit) struct strbuf list = {0};
	unsigned listed = 0;

	for (size_t i = 0; i < modules->list.len && i < OPENED_MAX; i++) {
		const struct module *module = &modules->list.data[i];
		bool defines;
		struct error *err = module_defines_malloc(proc, module, &defines);

		if (err)
			return err;
		if (!defines)
			continue;
		strbuf_appendf(&list, "%s%s", listed ? ", " : "", module->code->path);
		if (++listed == LISTED_MAX)
			break;
	}
	if (list.failed)
		return error_no_memory();
	return error_create(
		ERROR_NOT_FOUND,
		"process %d (%s) has not mapped %s; --lib can name a file that it "
		"has mapped (those that define malloc: %s)",
		proc->pid, proc->command, library, listed ? strbuf_text(&list) : "none");
}

static struct error *find_named(const struct proc *proc, const struct modules *modules,
				const char *library, struct allocator *ret)
{
	_cleanup_(freep) char *resolved = realpath(library, NULL);
	_cleanup_(strbuf_deinit) struct strbuf path = {0};
	struct wanted wanted = {.name = library, .resolved = resolved};

	strbuf_appendf(&path, "/proc/%d/root%s", proc->pid, library);
	if (path.failed)
		return error_no_memory();
	wanted.is_here = stat(library, &wanted.here) == 0;
	wanted.is_there = library[0] == '/' && stat(path.data, &wanted.there) == 0;

	for (size_t i = 0; i < modules->list.len; i++) {
		const struct module *module = &modules->list.data[i];

		if (is_wanted(&wanted, module->code))
			return found(proc, module, ret);
	}
	return not_mapped(proc, modules, library);
}

static bool is_executable(const struct proc *proc, const struct module *module,
			  const struct stat *exe)
{
	if (same_file(exe, module->code))
		return true;
	/* On btrfs and overlayfs the devices differ (see maps.h). */
	return exe->st_ino == module->code->inode && proc->executable &&
	       !strncmp(proc->executable, module->code->path, strlen(module->code->path));
}

static struct error *find_detected(const struct proc *proc, const struct modules *modules,
				   struct allocator *ret)
{
	_cleanup_(strbuf_deinit) struct strbuf path = {0};
	_cleanup_(strbuf_deinit) struct strbuf searched = {0};
	size_t listed = 0;
	struct stat exe;

	strbuf_appendf(&path, "/proc/%d/exe", proc->pid);
	if (path.failed)
		return error_no_memory();
	if (stat(path.data, &exe) == 0) {
		for (size_t i = 0; i < modules->list.len; i++) {
			const struct module *module = &modules->list.data[i];
			bool defines;

			if (!is_executable(proc, module, &exe) ||
			    IS_ONE_OF(module->code->path, linker_names))
				continue;

			struct error *err = defines_malloc(path.data, true, &defines);
			if (err)
				return err;
			if (defines)
				return found(proc, module, ret);
			break;
		}
	}

	for (size_t i = 0; i < modules->list.len; i++) {
		const struct module *module = &modules->list.data[i];

		if (IS_ONE_OF(module->code->path, libc_names))
			return found(proc, module, ret);
		if (listed++ < LISTED_MAX)
			strbuf_appendf(&searched, "%s%s", listed > 1 ? ", " : "",
				       module->code->path);
	}
	if (listed > LISTED_MAX)
		strbuf_appendf(&searched, " and %zu more", listed - LISTED_MAX);
	if (searched.failed)
		return error_no_memory();
	return error_create(
		ERROR_NOT_FOUND,
		"no allocator found in process %d (%s): searched %s; name the "
		"library with --lib PATH",
		proc->pid, proc->command,
		listed ? strbuf_text(&searched) : "its mappings, none of a file");
}

struct error *allocator_find(const struct proc *proc, const struct proc_maps *maps,
			     const char *library, struct allocator *ret)
{
	_cleanup_(modules_deinit) struct modules modules = {0};
	struct error *err = list_modules(maps, &modules);

	if (err)
		return err;
	return library ? find_named(proc, &modules, library, ret)
		       : find_detected(proc, &modules, ret);
}

void allocator_deinit(struct allocator *allocator)
{
	free(allocator->module_path);
	free(allocator->open_path);
	*allocator = (struct allocator){0};
}
