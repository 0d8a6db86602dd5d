// SPDX-License-Identifier: Apache-2.0
#include "dwarf/split_search.h"

#include <stdlib.h>
#include <string.h>

#include "dwarf/dwarf_read.h"
#include "util/cleanup.h"
#include "util/path.h"
#include "util/regular_file.h"
#include "util/strbuf.h"

/* Longer names cannot be file names (PATH_MAX). */
#define NAME_MAX_BYTES 4096u

/* The cost of trying a name, and the further cost of opening a file and its sections. */
#define TRY_STEPS  1024u
#define OPEN_STEPS 65536u

struct split_search {
	const struct debug_search *search;
	char *path;      /* of the program */
	char *directory; /* of the program */
	char *debug_dir; /* of its debug file, or NULL */
	uint64_t *memory_bytes;
	bool packages_tried;
	VEC(struct split_file *) packages;
};

DEFINE_CLEANUP(struct split_search *, split_search_destroy);

struct error *split_search_create(const struct debug_search *search, const char *path,
				  const char *debug_dir, uint64_t *memory_bytes,
				  struct split_search **ret)
{
	_cleanup_(split_search_destroyp) struct split_search *made =
		calloc(1, sizeof(*made));
	const char *slash = strrchr(path, '/');

	if (!made)
		return error_no_memory();
	made->search = search;
	made->memory_bytes = memory_bytes;
	made->path = strdup(path);
	made->directory = strndup(path, slash ? (size_t)(slash - path) : 0);
	if (debug_dir)
		made->debug_dir = strdup(debug_dir);
	if (!made->path || !made->directory || (debug_dir && !made->debug_dir))
		return error_no_memory();
	*ret = take(made);
	return NULL;
}

void split_search_destroy(struct split_search *search)
{
	if (!search)
		return;
	vec_foreach (package, &search->packages)
		split_file_close(*package);
	vec_deinit(&search->packages);
	free(search->path);
	free(search->directory);
	free(search->debug_dir);
	free(search);
}

/* The current search. */
struct attempt {
	struct split_search *search;
	struct dwarf_budget *budget;
	const struct split_skeleton *skeleton; /* NULL: packages are collected */
	struct split_unit **ret;
};

/* Take the unit from the file, if the file has it. */
static struct error *take_unit(struct attempt *attempt, const struct split_file *file)
{
	struct split_sections sections;

	if (!split_file_sections(file, attempt->skeleton->id, &sections))
		return NULL;
	return split_unit_create(attempt->skeleton, &sections, attempt->budget,
				 attempt->search->memory_bytes, attempt->ret);
}

/* Is the package open already? The target's root and ours are often the same. */
static bool is_known(const struct split_search *search, int fd)
{
	vec_foreach (package, &search->packages) {
		if (split_file_is(*package, fd))
			return true;
	}
	return false;
}

/* Use the file `fd` (-1: none). Packages are kept. A package with the name of a .dwo
 * file is ignored: it would be closed while units still need it. */
static struct error *try_fd(struct attempt *attempt, int fd)
{
	struct split_search *search = attempt->search;
	bool want_package = !attempt->skeleton;
	struct split_file *file;
	struct error *err;

	if (fd < 0)
		return NULL;
	if (is_known(search, fd) || !dwarf_budget_spend(attempt->budget, OPEN_STEPS)) {
		close(fd);
		return NULL;
	}
	err = split_file_open(fd, *search->memory_bytes, &file);
	if (err)
		return error_only_no_memory(err);
	if (split_file_is_package(file) == want_package) {
		if (!want_package)
			err = take_unit(attempt, file);
		else if (vec_push(&search->packages, file))
			*search->memory_bytes -= split_file_bytes(take(file));
		else
			err = error_no_memory();
	}
	split_file_close(file);
	return err;
}

/* Try the file `name` in `dir`, in the target's root or in ours. */
static struct error *try_in(struct attempt *attempt, bool in_target, const char *dir,
			    const char *name)
{
	int root_fd = attempt->search->search->root_fd;
	_cleanup_(strbuf_deinit) struct strbuf path = {0};

	if ((attempt->ret && *attempt->ret) || (in_target && root_fd < 0) ||
	    !dwarf_budget_spend(attempt->budget, TRY_STEPS))
		return NULL;
	strbuf_append(&path, dir);
	if (name[0] != '/')
		strbuf_append_char(&path, '/');
	strbuf_append(&path, name);
	if (path.failed)
		return error_no_memory();
	return try_fd(attempt, in_target ? regular_file_open_below(root_fd, path.data)
					 : regular_file_open(path.data));
}

static struct error *try_both(struct attempt *attempt, const char *dir, const char *name)
{
	struct error *err = try_in(attempt, true, dir, name);

	return err ? err : try_in(attempt, false, dir, name);
}

/* Search below the directories of debug files. */
static struct error *try_dirs(struct attempt *attempt, const char *path)
{
	const char *const *dir = attempt->search->search->dirs;
	struct error *err = NULL;

	for (; !err && dir && *dir; dir++) {
		if (!path_leads_up(path))
			err = try_in(attempt, false, *dir, path);
		if (!err && strchr(path, '/'))
			err = try_in(attempt, false, *dir, path_base_name(path));
	}
	return err;
}

static struct error *find_packages(struct split_search *search,
				   struct dwarf_budget *budget)
{
	struct attempt attempt = {.search = search, .budget = budget};
	_cleanup_(strbuf_deinit) struct strbuf name = {0};
	struct error *err;

	if (search->packages_tried)
		return NULL;
	search->packages_tried = true;
	strbuf_append(&name, search->path);
	strbuf_append(&name, ".dwp");
	if (name.failed)
		return error_no_memory();
	err = try_both(&attempt, "", name.data);
	if (!err)
		err = try_dirs(&attempt, name.data);
	if (!err)
		err = try_both(&attempt, DEBUG_SYSTEM_DIR, name.data);
	return err;
}

static struct error *find_in_packages(struct attempt *attempt)
{
	vec_foreach (package, &attempt->search->packages) {
		struct error *err = take_unit(attempt, *package);

		if (err || *attempt->ret)
			return err;
	}
	return NULL;
}

/* Search in the directory of the program or of its debug file. */
static struct error *try_beside(struct attempt *attempt, const char *dir)
{
	const char *name = attempt->skeleton->name;
	struct error *err = NULL;

	if (!dir)
		return NULL;
	if (name[0] != '/')
		err = try_both(attempt, dir, name);
	if (!err && strchr(name, '/'))
		err = try_both(attempt, dir, path_base_name(name));
	return err;
}

/* Find the .dwo file of the skeleton. */
static struct error *find_file(struct attempt *attempt)
{
	const char *name = attempt->skeleton->name, *dir = attempt->skeleton->directory;
	_cleanup_(strbuf_deinit) struct strbuf whole = {0};
	struct error *err = NULL;

	if (strnlen(name, NAME_MAX_BYTES) == NAME_MAX_BYTES ||
	    (dir && strnlen(dir, NAME_MAX_BYTES) == NAME_MAX_BYTES))
		return NULL;
	if (name[0] != '/' && dir && dir[0] == '/') {
		strbuf_append(&whole, dir);
		strbuf_append_char(&whole, '/');
	}
	strbuf_append(&whole, name);
	if (whole.failed)
		return error_no_memory();
	if (whole.data[0] == '/')
		err = try_both(attempt, "", whole.data);
	if (!err)
		err = try_beside(attempt, attempt->search->directory);
	if (!err)
		err = try_beside(attempt, attempt->search->debug_dir);
	return err ? err : try_dirs(attempt, whole.data);
}

struct error *split_search_find(struct split_search *search,
				const struct split_skeleton *skeleton,
				struct dwarf_budget *budget, struct split_unit **ret)
{
	struct attempt attempt = {search, budget, skeleton, ret};
	struct error *err;

	*ret = NULL;
	err = find_packages(search, budget);
	if (!err)
		err = find_in_packages(&attempt);
	return err || *ret ? err : find_file(&attempt);
}
