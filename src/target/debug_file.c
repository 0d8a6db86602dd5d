// SPDX-License-Identifier: Apache-2.0
#include "target/debug_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "target/elf_file.h"
#include "util/cleanup.h"
#include "util/regular_file.h"
#include "util/strbuf.h"

bool debug_file_is_needless(struct elf_file *file)
{
	bool has_symbols = false;

	/* If the file cannot be read, a debug file does not help. */
	error_destroy(file->tables->has_symbols(file, &has_symbols));
	return has_symbols;
}

/* Try one path below `root_fd`. If the debug file fits, `file` keeps it open. */
static struct error *try_path(struct elf_file *file, int root_fd,
			      const struct elf_debuglink *link, struct strbuf *path,
			      char **ret_path)
{
	_cleanup_(error_destroyp) struct error *err = NULL;
	bool serves = false;
	int fd;

	if (path->failed)
		return error_no_memory();
	fd = regular_file_open_below(root_fd, path->data);
	if (fd < 0)
		return NULL;
	err = file->tables->try_debug(file, fd, link, &serves);
	if (err && err->code == ERROR_NO_MEMORY)
		return take(err);
	if (!serves)
		return NULL;
	*ret_path = strbuf_steal(path);
	return *ret_path ? NULL : error_no_memory();
}

#define TRIES          4
#define TRIES_IN_DEBUG 2 /* the first two, both below DEBUG_SYSTEM_DIR */

/* The path of try number `n`; false if there is no such path. */
static bool path_of(const struct elf_file *file, const char *directory,
		    const struct elf_debuglink *link, unsigned n, struct strbuf *ret)
{
	static const char *const before[] = {DEBUG_SYSTEM_DIR, "", ""};
	static const char *const after[] = {"", "", "/.debug"};

	if (n == 0) {
		if (strlen(file->build_id) <= 2)
			return false;
		strbuf_appendf(ret, DEBUG_SYSTEM_DIR "/.build-id/%.2s/%s.debug",
			       file->build_id, file->build_id + 2);
		return true;
	}
	if (!link->name[0])
		return false;
	strbuf_appendf(ret, "%s%s%s/%s", before[n - 1], directory, after[n - 1],
		       link->name);
	return true;
}

static struct error *try_root(struct elf_file *file, int root_fd, unsigned tries,
			      const char *directory, const struct elf_debuglink *link,
			      char **ret_path)
{
	struct error *err = NULL;

	for (unsigned n = 0; n < tries && !err && !*ret_path; n++) {
		_cleanup_(strbuf_deinit) struct strbuf path = {0};

		if (path_of(file, directory, link, n, &path))
			err = try_path(file, root_fd, link, &path, ret_path);
	}
	return err;
}

struct error *debug_file_find(struct elf_file *file, int root_fd, const char *module_path,
			      struct debug_file *ret)
{
	const char *slash = strrchr(module_path, '/');
	_cleanup_(freep) char *directory =
		strndup(module_path, slash ? (size_t)(slash - module_path) : 0);
	_cleanup_(closep) int own_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct elf_debuglink link = {{0}, 0};
	struct error *err = NULL;

	*ret = (struct debug_file){0};
	if (!directory)
		return error_no_memory();
	err = file->tables->read_debuglink(file, &link);
	if (!err && own_fd >= 0)
		err = try_root(file, own_fd, TRIES_IN_DEBUG, directory, &link,
			       &ret->path);
	if (!err && !ret->path && root_fd >= 0) {
		err = try_root(file, root_fd, TRIES, directory, &link, &ret->path);
		ret->is_targets = ret->path;
	}
	return err;
}
