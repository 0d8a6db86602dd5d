// SPDX-License-Identifier: Apache-2.0
#include "process/debug_file.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/elf_file.h"
#include "elf/elf_tables.h"
#include "process/file_user.h"
#include "process/proc.h"
#include "util/cleanup.h"
#include "util/open_helper.h"
#include "util/regular_file.h"
#include "util/strbuf.h"

bool debug_file_is_needless(struct elf_file *file)
{
	bool has_symbols = false;

	/* If the file cannot be read, a debug file does not help. */
	error_destroy(file->tables->has_symbols(file, &has_symbols));
	return has_symbols;
}

/* A root directory, and whose files below it are tried. */
struct debug_root {
	int fd;
	bool is_targets;
	struct file_user user; /* the target's */
};

/* Is the file root's, the target's, or of the owner of `file`? */
static bool has_known_owner(const struct elf_file *file, const struct debug_root *root,
			    const struct stat *st)
{
	struct stat of_file;

	return st->st_uid == 0 || st->st_uid == root->user.uid ||
	       (!fstat(file->fd, &of_file) && st->st_uid == of_file.st_uid);
}

/* Find a file of the target. All is decided before it is opened. Without a build-id only
 * a checksum, which the target chooses, says that the file is the right one. No symbolic
 * link is followed then. */
static int find_of_target(const struct elf_file *file, const struct debug_root *root,
			  const char *path)
{
	bool has_id = file->build_id[0];
	int place =
		has_id ? place_find(root->fd, path, 0) : place_find_plain(root->fd, path);
	struct stat st;

	if (place >= 0 && !open_helper_stat(place, "", &st) &&
	    file_user_may_read(&root->user, &st) &&
	    (has_id || has_known_owner(file, root, &st)))
		return place;
	closep(&place);
	return -1;
}

static bool is_moderate_elf(int fd)
{
	char magic[SELFMAG];

	return pread(fd, magic, SELFMAG, 0) == SELFMAG &&
	       !memcmp(magic, ELFMAG, SELFMAG) &&
	       elf_tables_look(fd) == ELF_TABLES_MODERATE;
}

static int open_file(const struct elf_file *file, const struct debug_root *root,
		     const char *path)
{
	_cleanup_(closep) int place = root->is_targets ? find_of_target(file, root, path)
						       : place_find(root->fd, path, 0);
	int fd = regular_file_reopen(place);

	if (fd >= 0 && !is_moderate_elf(fd)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Try one path below the root directory. If the debug file fits, `file` keeps it open. */
static struct error *try_path(struct elf_file *file, const struct debug_root *root,
			      const struct elf_debuglink *link, struct strbuf *path,
			      char **ret_path)
{
	_cleanup_(error_destroyp) struct error *err = NULL;
	bool serves = false;
	int fd;

	if (path->failed)
		return error_no_memory();
	fd = open_file(file, root, path->data);
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

/* The path of try number `n`; false if `n` has no path. */
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

static struct error *try_root(struct elf_file *file, const struct debug_root *root,
			      unsigned tries, const char *directory,
			      const struct elf_debuglink *link, char **ret_path)
{
	struct error *err = NULL;

	for (unsigned n = 0; n < tries && !err && !*ret_path; n++) {
		_cleanup_(strbuf_deinit) struct strbuf path = {0};

		if (path_of(file, directory, link, n, &path))
			err = try_path(file, root, link, &path, ret_path);
	}
	return err;
}

struct error *debug_file_find(struct elf_file *file, const struct proc *proc,
			      const char *module_path, struct debug_file *ret)
{
	const char *slash = strrchr(module_path, '/');
	_cleanup_(freep) char *directory =
		strndup(module_path, slash ? (size_t)(slash - module_path) : 0);
	_cleanup_(closep) int own_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct debug_root ours = {.fd = own_fd};
	struct debug_root theirs = {.fd = proc ? proc_root_fd(proc) : -1,
				    .is_targets = true};
	struct elf_debuglink link = {{0}, 0};
	struct error *err = NULL;

	*ret = (struct debug_file){0};
	if (!directory)
		return error_no_memory();
	err = file->tables->read_debuglink(file, &link);
	if (!err && own_fd >= 0)
		err = try_root(file, &ours, TRIES_IN_DEBUG, directory, &link, &ret->path);
	/* If it has exited, another process may have its pid by now. */
	if (!err && !ret->path && theirs.fd >= 0 &&
	    file_user_read(proc->pid, &theirs.user) && !proc_has_exited(proc)) {
		err = try_root(file, &theirs, TRIES, directory, &link, &ret->path);
		ret->is_targets = ret->path;
	}
	return err;
}
