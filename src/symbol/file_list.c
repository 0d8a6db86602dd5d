// SPDX-License-Identifier: Apache-2.0
#include "symbol/file_list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "util/cleanup.h"
#include "util/strbuf.h"

#define LEVELS_MAX 8

static bool push_file(struct file_list *list, size_t dir, const char *path)
{
	struct listed_file file = {.dir = dir, .path = strdup(path)};

	if (file.path && vec_push(&list->files, file))
		return true;
	free(file.path);
	return false;
}

static unsigned type_of(int dir, const struct dirent *entry)
{
	struct stat st;

	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type;
	if (fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW))
		return DT_UNKNOWN;
	return S_ISDIR(st.st_mode) ? DT_DIR : S_ISREG(st.st_mode) ? DT_REG : DT_UNKNOWN;
}

/* List the directory `fd`, which is owned and has the path `path`. A directory that
 * cannot be read is left out. */
static bool list_files(struct file_list *list, size_t dir, int fd, struct strbuf *path,
		       unsigned levels)
{
	_cleanup_(closedirp) DIR *entries = fdopendir(fd);
	size_t len = path->len;
	struct dirent *entry;
	bool ok = true;

	if (!entries) {
		closep(&fd);
		return true;
	}
	while (ok && (entry = readdir(entries))) {
		unsigned type = type_of(dirfd(entries), entry);

		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (list->seen >= FILE_LIST_MAX) {
			list->is_whole = false;
			break;
		}
		list->seen++;
		strbuf_appendf(path, "%s%s", len ? "/" : "", entry->d_name);
		if (path->failed)
			return false;
		if (type == DT_REG)
			ok = push_file(list, dir, path->data);
		else if (type == DT_DIR && levels < LEVELS_MAX)
			ok = list_files(
				list, dir,
				openat(dirfd(entries), entry->d_name,
				       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
				path, levels + 1);
		path->len = len;
		path->data[len] = '\0';
	}
	return ok;
}

static struct error *add_dir(struct file_list *list, const char *path)
{
	_cleanup_(strbuf_deinit) struct strbuf below = {0};
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), copy;

	if (fd < 0)
		return error_errno(ERROR_USAGE, errno, "--debug-dir %s", path);
	if (!vec_push(&list->dirs, fd)) {
		closep(&fd);
		return error_no_memory();
	}
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return list_files(list, list->dirs.len - 1, copy, &below, 1) ? NULL
								     : error_no_memory();
}

struct error *file_list_init(struct file_list *ret, const char *const *paths)
{
	struct error *err = NULL;

	*ret = (struct file_list){.is_whole = true};
	for (; !err && *paths; paths++)
		err = add_dir(ret, *paths);
	return err;
}

void file_list_deinit(struct file_list *list)
{
	vec_foreach (fd, &list->dirs)
		closep(fd);
	vec_foreach (file, &list->files)
		free(file->path);
	vec_deinit(&list->dirs);
	vec_deinit(&list->files);
}
