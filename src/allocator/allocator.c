// SPDX-License-Identifier: Apache-2.0
#include "allocator/allocator.h"

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "allocator/allocator_otel.h"
#include "allocator/scan_cache.h"
#include "process/file_names.h"
#include "process/file_user.h"
#include "process/linker.h"
#include "process/live_thread.h"
#include "util/cleanup.h"
#include "util/file_limit.h"
#include "util/open_helper.h"
#include "util/path.h"
#include "util/regular_file.h"
#include "util/strbuf.h"

DEFINE_CLEANUP(struct target_file *, target_file_release);

/* Before 2.32, glibc's dynamic linker exports a malloc and a free of its own, used
 * until libc is mapped. The linker is the executable in a program started as `ld.so
 * PROGRAM`. */
static const char *const linker_names[] = {
	"ld-linux*.so.*",
	"ld-2.*.so",
	"ld64.so.*",
};

/* A file that the process has mapped executable. Addresses in the target. */
struct module {
	const struct proc_mapping *code; /* its first executable mapping */
	uint64_t code_end;               /* end of its last executable mapping */
	uint64_t start;                  /* its lowest address */
};

struct modules {
	VEC(struct module) list; /* in address order */
};

/* Bounds on the files that a message lists and on the files that are opened: a hostile
 * target may map tens of thousands. The last bound holds while no file with an
 * allocator has been found. */
#define LISTED_MAX         5
#define OPENED_MAX         1024
#define OPENED_MAX_NOTHING 16384

/* If there are more files than may be opened, those with these names are opened first. */
static const char *const allocator_names[] = {
	"libc.so.*",     "libc-2.*.so",      "libc.musl-*",      "ld-musl-*",
	"libjemalloc.*", "libtcmalloc*.so*", "libmimalloc*.so*",
};

static bool has_name(const char *path, const char *const patterns[], size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!fnmatch(patterns[i], path_base_name(path), 0))
			return true;
	return false;
}

static bool is_linker(const char *path)
{
	return has_name(path, linker_names,
			sizeof(linker_names) / sizeof(linker_names[0]));
}

static bool has_allocator_name(const char *path)
{
	return has_name(path, allocator_names,
			sizeof(allocator_names) / sizeof(allocator_names[0]));
}

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_files(const struct proc_mapping *a, const struct proc_mapping *b)
{
	const struct file_name one = file_name_of(a), other = file_name_of(b);

	return file_name_compare(&one, &other);
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

/* Sort rather than search: a hostile target may map tens of thousands of files. */
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

/* The file that --lib names, in each form that may match a mapped file. */
struct wanted {
	const char *name;
	char *resolved; /* absolute and without symbolic links, or NULL */
	struct file_names here, there;
	/* whether the path exists below our root; below the target's root */
	bool is_here, is_there;
};

static bool same_file(const struct file_names *names, const struct proc_mapping *mapping)
{
	const struct file_name name = file_name_of(mapping);

	return file_name_is(&names->listed, &name);
}

static bool is_wanted(const struct wanted *wanted, const struct proc_mapping *mapping)
{
	if (!strchr(wanted->name, '/'))
		return !strcmp(wanted->name, path_base_name(mapping->path));
	return !strcmp(wanted->name, mapping->path) ||
	       (wanted->resolved && !strcmp(wanted->resolved, mapping->path)) ||
	       (wanted->is_here && same_file(&wanted->here, mapping)) ||
	       (wanted->is_there && same_file(&wanted->there, mapping));
}

/* --- the search -------------------------------------------------------------------- */

struct search {
	const struct proc *proc;
	const struct allocator_options *options;
	struct modules modules;
	/* The executable mappings of options->known, ordered by compare_files(). */
	VEC(const struct proc_mapping *) known;
	size_t executable; /* index of the module that is the executable, or SIZE_MAX */
	char *why_none;    /* what is missing in the executable, or NULL */
	struct error
		*unread; /* error of the first file that could not be read, or NULL */
};

static void search_deinit(struct search *search)
{
	vec_deinit(&search->modules.list);
	vec_deinit(&search->known);
	free(search->why_none);
	error_destroy(search->unread);
}

static void find_executable(struct search *search)
{
	struct live_thread live = live_thread_begin(search->proc->pid);
	struct file_names exe;
	bool is_found;

	search->executable = SIZE_MAX;
	do {
		char path[32];

		snprintf(path, sizeof(path), "/proc/%d/exe", live.tid);
		is_found = file_names_of_path(path, &exe);
	} while (!is_found && live_thread_retry(&live));
	if (!is_found)
		return;
	for (size_t i = 0; i < search->modules.list.len; i++) {
		if (!same_file(&exe, search->modules.list.data[i].code))
			continue;
		search->executable = i;
		return;
	}
}

static int by_mapped_file(const void *a, const void *b)
{
	return compare_files(*(const struct proc_mapping *const *)a,
			     *(const struct proc_mapping *const *)b);
}

static struct error *list_known(struct search *search)
{
	const struct proc_maps *known = search->options->known;

	for (size_t i = 0; known && i < known->mappings.len; i++) {
		const struct proc_mapping *m = &known->mappings.data[i];

		if (m->executable && !vec_push(&search->known, m))
			return error_no_memory();
	}
	if (search->known.len)
		qsort(search->known.data, search->known.len, sizeof(*search->known.data),
		      by_mapped_file);
	return NULL;
}

static bool is_known(const struct search *search, const struct proc_mapping *code)
{
	return search->known.len && bsearch(&code, search->known.data, search->known.len,
					    sizeof(*search->known.data), by_mapped_file);
}

/* Append the allocators of module number `index`. */
static struct error *scan_module(struct search *search, size_t index, bool is_named,
				 bool last_resort, struct allocators *ret)
{
	const struct module *module = &search->modules.list.data[index];
	_cleanup_(target_file_releasep) struct target_file *opened = NULL;
	char *why_none = NULL;
	struct error *err = NULL;

	if (!is_known(search, module->code))
		err = target_file_of_mapping(search->proc, module->code, &opened);
	if (err || !opened)
		return err;

	const struct allocator_file file = {
		.module_path = module->code->path,
		.file = opened,
		.module_start = module->start,
		.text_start = module->code->start,
		.text_end = module->code_end,
		.is_executable = index == search->executable,
		.is_named = is_named,
		.last_resort = last_resort,
		.debug_proc = search->options->is_shared ? NULL : search->proc,
	};

	err = scan_cache_scan(search->options->scans, &file, search->options, ret,
			      &why_none);
	if (why_none && (is_named || file.is_executable)) {
		free(search->why_none);
		search->why_none = take(why_none);
	}
	free(why_none);
	return err;
}

/* Count a file that could not be read. Takes ownership of `err`. */
static void note_unread(struct search *search, struct error *err)
{
	struct untraced_files *untraced = search->options->untraced;

	if (untraced) {
		untraced->count++;
		if (!untraced->why_unread)
			untraced->why_unread = strdup(err->message);
		untraced->lacks_descriptors |= file_limit_is_reached(err);
	}
	if (search->unread)
		error_destroy(err);
	else
		search->unread = err;
}

/* Does the error leave open what the file contains? */
static bool is_unread(const struct error *err)
{
	return err->code == ERROR_PERMISSION || err->code == ERROR_IO;
}

/* Scan a module that --lib does not name. If it is not a valid file of our machine, it
 * has no allocator. */
static struct error *try_module(struct search *search, size_t index, bool last_resort,
				struct allocators *ret)
{
	struct error *err = NULL;

	if (!is_linker(search->modules.list.data[index].code->path))
		err = scan_module(search, index, false, last_resort, ret);
	if (!err || err->code == ERROR_GONE || err->code == ERROR_NO_MEMORY)
		return err;
	/* The last resort reads the executable a second time: do not count it twice. */
	if (is_unread(err) && !last_resort)
		note_unread(search, err);
	else
		error_destroy(err);
	return NULL;
}

/* A module with its rank in the list of files to open. */
struct turn {
	size_t index;
	bool has_name; /* its name is in allocator_names */
	uint64_t far;  /* distance from the dynamic linker, bytes */
};

static int by_turn(const void *pa, const void *pb)
{
	const struct turn *a = pa, *b = pb;

	if (a->has_name != b->has_name)
		return a->has_name ? -1 : 1;
	return a->far != b->far ? compare(a->far, b->far) : compare(a->index, b->index);
}

/*
 * List the modules in the order of opening them: by address, or, if there are more than
 * may be opened, the likely allocators first. The dynamic linker maps the program's
 * libraries next to itself.
 */
static struct turn *list_turns(const struct search *search)
{
	size_t count = search->modules.list.len;
	struct turn *turns = calloc(count + 1, sizeof(*turns));
	struct auxv auxv;

	if (!turns)
		return NULL;
	for (size_t i = 0; i < count; i++)
		turns[i].index = i;
	if (count <= OPENED_MAX)
		return turns;
	auxv_read(search->proc->pid, &auxv);
	for (size_t i = 0; i < count; i++) {
		const struct module *module = &search->modules.list.data[i];

		turns[i].has_name = has_allocator_name(module->code->path);
		turns[i].far = module->start > auxv.linker_base
				       ? module->start - auxv.linker_base
				       : auxv.linker_base - module->start;
	}
	qsort(turns, count, sizeof(*turns), by_turn);
	return turns;
}

/* Scan module number `index`, unless the number of opened files has reached its bound. */
static struct error *try_next(struct search *search, size_t index, size_t *opened,
			      struct allocators *ret)
{
	size_t max = ret->list.len ? OPENED_MAX : OPENED_MAX_NOTHING;

	if (index == search->executable ||
	    is_known(search, search->modules.list.data[index].code))
		return NULL;
	if ((*opened)++ < max)
		return try_module(search, index, false, ret);
	note_unread(search,
		    error_create(ERROR_IO,
				 "process %d (%s) maps more than %d files: name the one "
				 "that holds the allocator with --lib PATH",
				 search->proc->pid, search->proc->command, OPENED_MAX));
	return NULL;
}

static struct error *try_modules(struct search *search, struct allocators *ret)
{
	_cleanup_(freep) struct turn *turns = list_turns(search);
	struct error *err = turns ? NULL : error_no_memory();
	size_t opened = 0;

	if (!err && search->executable != SIZE_MAX)
		err = try_module(search, search->executable, false, ret);
	for (size_t i = 0; i < search->modules.list.len && !err; i++)
		err = try_next(search, turns[i].index, &opened, ret);
	return err;
}

static struct error *not_mapped(struct search *search)
{
	_cleanup_(allocators_deinit) struct allocators found = {0};
	_cleanup_(strbuf_deinit) struct strbuf list = {0};
	const char *last = "";
	unsigned listed = 0;
	struct error *err = try_modules(search, &found);

	if (err)
		return err;
	vec_foreach (a, &found.list) {
		if (!strcmp(a->module_path, last))
			continue;
		if (listed++ < LISTED_MAX)
			strbuf_appendf(&list, "%s%s", listed > 1 ? ", " : "",
				       a->module_path);
		last = a->module_path;
	}
	if (list.failed)
		return error_no_memory();
	return error_create(ERROR_NOT_FOUND,
			    "process %d (%s) does not map %s; --lib expects a file that "
			    "it maps (with an allocator: %s)",
			    search->proc->pid, search->proc->command,
			    search->options->library,
			    listed ? strbuf_text(&list) : "none");
}

/* Get the names of the file to which the path leads in the target's root directory. The
 * target may have put a link there: a file that it may not read is not opened, and has
 * stat(2)'s names only. */
static bool find_there(const struct proc *proc, const char *path, struct file_names *ret)
{
	_cleanup_(closep) int place = place_find(proc_root_fd(proc), path, 0);
	struct file_user user;
	struct stat st;

	if (place < 0 || open_helper_stat(place, "", &st) || !S_ISREG(st.st_mode))
		return false;
	if (file_user_read(proc->pid, &user) && !proc_has_exited(proc) &&
	    file_user_may_read(&user, &st))
		return file_names_of_place(place, ret);
	return file_names_by_stat(place, ret);
}

static struct error *find_named(struct search *search, struct allocators *ret)
{
	const char *library = search->options->library;
	const char *prefix = search->options->symbols_prefix;
	_cleanup_(freep) char *resolved = realpath(library, NULL);
	struct wanted wanted = {.name = library, .resolved = resolved};
	size_t i = 0;

	wanted.is_here = file_names_of_path(library, &wanted.here);
	wanted.is_there =
		library[0] == '/' && find_there(search->proc, library, &wanted.there);

	while (i < search->modules.list.len &&
	       !is_wanted(&wanted, search->modules.list.data[i].code))
		i++;
	if (i == search->modules.list.len)
		return not_mapped(search);

	const char *module_path = search->modules.list.data[i].code->path;
	struct error *err = scan_module(search, i, true, true, ret);

	if (err)
		return error_prefix(err, "allocator %s", module_path);
	if (ret->list.len)
		return NULL;
	if (search->options->otel)
		return error_create(ERROR_NOT_FOUND, "%s has no " OTEL_PROBES,
				    module_path);
	return error_create(
		ERROR_NOT_FOUND,
		"%s does not define %smalloc and %sfree, nor such a pair of "
		"%s%s%s: name the file that holds the allocator with --lib "
		"PATH",
		module_path, prefix ? prefix : "", prefix ? prefix : "",
		prefix ? "jemalloc's with this prefix" : "another known allocator",
		search->why_none ? "; " : "", search->why_none ? search->why_none : "");
}

/* Does the process report its blocks by USDT probes? Asked when no allocator was
 * found. */
static bool tells_of_blocks(struct search *search)
{
	const struct allocator_options *options = search->options;
	struct allocator_options otel = *options;
	_cleanup_(allocators_deinit) struct allocators found = {0};

	otel.otel = true;
	otel.untraced = NULL;
	search->options = &otel;
	error_destroy(try_modules(search, &found));
	search->options = options;
	return found.list.len;
}

/* Has the process mapped only its program and the dynamic linker? The linker maps the
 * libraries first of all, so such a process has just started. */
static bool has_just_started(const struct search *search)
{
	size_t linkers = 0, others = 0;

	for (size_t i = 0; i < search->modules.list.len; i++) {
		if (i == search->executable)
			continue;
		if (is_linker(search->modules.list.data[i].code->path))
			linkers++;
		else
			others++;
	}
	return linkers && !others;
}

static struct error *none_found(struct search *search)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0};
	const char *prefix = search->options->symbols_prefix;
	size_t count = search->modules.list.len;

	if (search->unread)
		return take(search->unread);
	if (search->options->otel)
		return error_create(
			ERROR_NOT_FOUND,
			"process %d (%s) has mapped no file with " OTEL_PROBES,
			search->proc->pid, search->proc->command);
	if (has_just_started(search))
		return error_create(ERROR_NOT_FOUND,
				    "no allocator found in process %d (%s): it has only "
				    "loaded the dynamic linker so far: try again, or let "
				    "memtrace start it (memtrace -- COMMAND); otherwise "
				    "--growth shows where its memory grows",
				    search->proc->pid, search->proc->command);
	if (search->why_none)
		strbuf_appendf(&text, "%s; or name the library", search->why_none);
	else
		strbuf_append(&text, "searched ");
	for (size_t i = 0; i < count && i < LISTED_MAX && !search->why_none; i++)
		strbuf_appendf(&text, "%s%s", i ? ", " : "",
			       search->modules.list.data[i].code->path);
	if (!search->why_none) {
		if (!count)
			strbuf_append(&text, "its mappings, none of a file");
		if (count > LISTED_MAX)
			strbuf_appendf(&text, " and %zu more", count - LISTED_MAX);
		if (prefix)
			strbuf_appendf(&text, " for %smalloc and %sfree", prefix, prefix);
		strbuf_append(&text, "; name the library");
	}
	strbuf_append(&text, " with --lib PATH");
	if (!prefix)
		strbuf_append(&text, ", or what its functions' names begin with by "
				     "--symbols-prefix");
	strbuf_append(&text, "; --growth shows where memory grows, without an allocator");
	if (tells_of_blocks(search))
		strbuf_append(&text, "; it has " OTEL_PROBES ", which --otel-memory "
				     "traces");
	if (text.failed)
		return error_no_memory();
	return error_create(ERROR_NOT_FOUND, "no allocator found in process %d (%s): %s",
			    search->proc->pid, search->proc->command, strbuf_text(&text));
}

struct error *allocators_find(const struct proc *proc, const struct proc_maps *maps,
			      const struct allocator_options *options,
			      struct allocators *ret)
{
	_cleanup_(search_deinit) struct search search = {.proc = proc,
							 .options = options};
	struct error *err = list_modules(maps, &search.modules);

	if (!err)
		err = list_known(&search);
	if (err)
		return err;
	find_executable(&search);
	if (options->library)
		return find_named(&search, ret);
	err = try_modules(&search, ret);
	if (!err && !ret->list.len && search.executable != SIZE_MAX && !options->otel)
		err = try_module(&search, search.executable, true, ret);
	if (!err && !ret->list.len)
		err = none_found(&search);
	return err;
}
