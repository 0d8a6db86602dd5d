// SPDX-License-Identifier: Apache-2.0
#include "symbol/code_maps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "symbol/elf_names.h"
#include "util/cleanup.h"

/* A hostile program maps as many as it likes. */
#define FILES_MAX 256

struct code_file {
	uint64_t start, end, file_offset; /* of the range */
	int fd;                           /* until it is read */
	struct elf_names *names;          /* NULL: not read yet, or none */
};

/* 64-bit FNV-1a over a string. */
static uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return hash;
}

/* Takes a line of /proc/PID/maps (proc(5)); false when memory is out. Anonymous code
 * (a JIT's) is no reason for a new cache: it has no file, and it changes all the time. */
static bool add_line(struct code_maps *maps, const char *line)
{
	struct code_range range = {.path = NULL};
	char permissions[5];
	int path = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n",
		   &range.start, &range.end, permissions, &range.file_offset,
		   &path) < 4 ||
	    !path || !line[path] || !strchr(permissions, 'x'))
		return true;
	maps->hash = hash_text(maps->hash, line);
	if (line[path] == '/') {
		range.path = strndup(line + path, strcspn(line + path, "\n"));
		if (!range.path)
			return false;
	}
	if (vec_push(&maps->ranges, range))
		return true;
	free(range.path);
	return false;
}

struct error *code_maps_read(int tid, struct code_maps *ret)
{
	_cleanup_(freep) char *line = NULL;
	_cleanup_(fclosep) FILE *file = NULL;
	size_t cap = 0;
	char path[32];

	*ret = (struct code_maps){.hash = UINT64_C(0xcbf29ce484222325)};
	snprintf(path, sizeof(path), "/proc/%d/maps", tid);
	file = fopen(path, "re");
	if (!file)
		return error_errno(errno == ENOENT || errno == ESRCH ? ERROR_GONE
								     : ERROR_IO,
				   errno, "cannot read %s", path);
	while (getline(&line, &cap, file) > 0) {
		if (!add_line(ret, line)) {
			code_maps_deinit(ret);
			return error_no_memory();
		}
	}
	/* What is exiting has no mappings any more, or from some line on. */
	if (!ret->ranges.len || ferror(file)) {
		code_maps_deinit(ret);
		return error_create(ERROR_GONE, "process %d has exited", tid);
	}
	return NULL;
}

void code_maps_deinit(struct code_maps *maps)
{
	vec_foreach (file, &maps->files) {
		closep(&file->fd);
		elf_names_destroy(file->names);
	}
	vec_foreach (range, &maps->ranges)
		free(range->path);
	vec_deinit(&maps->files);
	vec_deinit(&maps->ranges);
	*maps = (struct code_maps){0};
}

/* libbcc opens files so. That it is another file by now cannot be told from the numbers
 * of devices and inodes alone: some file systems have two of them (target/file_names.h).
 */
static bool has_path(const struct code_range *range, int tid)
{
	_cleanup_(freep) char *path = NULL;
	struct stat st;

	if (asprintf(&path, "/proc/%d/root%s", tid, range->path) < 0) {
		path = NULL;
		return false;
	}
	return !stat(path, &st);
}

void code_maps_open(struct code_maps *maps, int tid)
{
	vec_foreach (range, &maps->ranges) {
		struct code_file file = {range->start, range->end, range->file_offset, -1,
					 NULL};
		char path[80];

		if (!range->path || maps->files.len == FILES_MAX || has_path(range, tid))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64,
			 tid, range->start, range->end);
		file.fd = open_regular_path(path);
		if (file.fd >= 0 && !vec_push(&maps->files, file))
			closep(&file.fd);
	}
}

const struct code_range *code_maps_find(const struct code_maps *maps, uint64_t address)
{
	vec_foreach (range, &maps->ranges) {
		if (address >= range->start && address < range->end)
			return range;
	}
	return NULL;
}

static void read_names(struct code_file *file)
{
	struct debug_elf *image;
	struct error *err = debug_elf_open(file->fd, &image);

	file->fd = -1;
	if (!err)
		err = elf_names_create(image, &file->names);
	/* Then there are no names. */
	error_destroy(err);
}

const char *code_maps_name(struct code_maps *maps, uint64_t address, uint64_t *ret_offset)
{
	vec_foreach (file, &maps->files) {
		if (address < file->start || address >= file->end)
			continue;
		if (file->fd >= 0)
			read_names(file);
		return file->names ? elf_names_find_at(file->names,
						       address - file->start +
							       file->file_offset,
						       ret_offset)
				   : NULL;
	}
	return NULL;
}
