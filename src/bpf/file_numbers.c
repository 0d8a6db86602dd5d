// SPDX-License-Identifier: Apache-2.0
#include "bpf/file_numbers.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/file_pages.h"
#include "util/cleanup.h"
#include "util/open_helper.h"
#include "util/regular_file.h"

static const struct numbered_file *find(const struct file_numbers *files,
					const struct stat *st)
{
	vec_foreach (file, &files->list)
		if (file->device == st->st_dev && file->inode == st->st_ino)
			return file;
	return NULL;
}

/* Find a known file with the same size and the same first page in memory: the same file
 * through another overlay. */
static const struct numbered_file *find_same(const struct file_numbers *files, int fd,
					     off_t size_bytes)
{
	vec_foreach (file, &files->list)
		if (file->size_bytes == size_bytes && file_pages_are_same(file->fd, fd))
			return file;
	return NULL;
}

/* The known file with the path's numbers, or NULL. It is not opened. A known file is open
 * and keeps its inode, so that no other file can have the same numbers. */
static const struct numbered_file *find_path(const struct file_numbers *files,
					     const char *path)
{
	struct stat st;

	return open_helper_stat(AT_FDCWD, path, &st) ? NULL : find(files, &st);
}

/* The known file that is open as `fd`, or NULL. Sets *st. */
static const struct numbered_file *find_open(const struct file_numbers *files, int fd,
					     struct stat *st)
{
	const struct numbered_file *known;

	if (fd < 0 || fstat(fd, st))
		return NULL;
	known = find(files, st);
	return known ? known : find_same(files, fd, st->st_size);
}

struct error *file_numbers_find(struct file_numbers *files, const char *path,
				struct numbered_file *ret)
{
	const struct numbered_file *known = find_path(files, path);

	*ret = (struct numbered_file){.fd = -1};
	if (known) {
		*ret = *known;
		return NULL;
	}

	_cleanup_(closep) int fd = regular_file_open(path);
	struct stat st = {0};

	known = find_open(files, fd, &st);
	if (fd < 0 || !st.st_ino)
		return NULL;
	if (known && known->device == st.st_dev && known->inode == st.st_ino) {
		*ret = *known;
		return NULL;
	}
	*ret = (struct numbered_file){
		.device = st.st_dev,
		.inode = st.st_ino,
		.size_bytes = st.st_size,
		.fd = fd,
		.number = known ? known->number : files->used + 1,
	};
	if (!vec_push(&files->list, *ret)) {
		ret->fd = -1;
		return error_no_memory();
	}
	files->used += !known;
	fd = -1;
	return NULL;
}

struct error *file_numbers_get(struct file_numbers *files, const char *path,
			       uint64_t *ret)
{
	struct numbered_file file;
	struct error *err = file_numbers_find(files, path, &file);

	*ret = file.number;
	return err;
}

uint64_t file_numbers_known(const struct file_numbers *files, const char *path)
{
	const struct numbered_file *known = find_path(files, path);

	if (known)
		return known->number;

	_cleanup_(closep) int fd = regular_file_open(path);
	struct stat st;

	known = find_open(files, fd, &st);
	return known ? known->number : 0;
}

void file_numbers_drop(struct file_numbers *files, uint64_t number)
{
	size_t kept = 0;

	vec_foreach (file, &files->list) {
		if (file->number == number)
			close(file->fd);
		else
			files->list.data[kept++] = *file;
	}
	files->list.len = kept;
}

void file_numbers_deinit(struct file_numbers *files)
{
	vec_foreach (file, &files->list)
		close(file->fd);
	vec_deinit(&files->list);
}
