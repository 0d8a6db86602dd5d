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
#include "target/procfs.h"
#include "util/cleanup.h"
#include "util/regular_file.h"

/* A hostile program maps as many as it likes. */
#define OPENED_MAX 256

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
	struct code_map map = {.fd = -1};
	char permissions[5];
	int path = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &map.start,
		   &map.end, permissions, &map.file_offset, &path) < 4 ||
	    !path || !line[path] || !strchr(permissions, 'x'))
		return true;
	maps->hash = hash_text(maps->hash, line);
	if (line[path] == '/') {
		map.path = strndup(line + path, strcspn(line + path, "\n"));
		if (!map.path)
			return false;
	}
	if (vec_push(&maps->list, map))
		return true;
	free(map.path);
	return false;
}

struct error *code_maps_read(int tid, struct code_maps *ret)
{
	_cleanup_(freep) char *line = NULL;
	_cleanup_(fclosep) FILE *file = NULL;
	size_t cap = 0, total = 0;
	ssize_t size;
	char path[32];

	*ret = (struct code_maps){.hash = UINT64_C(0xcbf29ce484222325)};
	snprintf(path, sizeof(path), "/proc/%d/maps", tid);
	file = fopen(path, "re");
	if (!file)
		return error_errno(errno == ENOENT || errno == ESRCH ? ERROR_GONE
								     : ERROR_IO,
				   errno, "cannot read %s", path);
	while ((size = getline(&line, &cap, file)) > 0) {
		total += (size_t)size;
		if (total > PROCFS_MAPS_BYTES) {
			code_maps_deinit(ret);
			return error_create(ERROR_UNSUPPORTED, "%s is too long", path);
		}
		if (!add_line(ret, line)) {
			code_maps_deinit(ret);
			return error_no_memory();
		}
	}
	/* What is exiting has no mappings any more, or from some line on. */
	if (!ret->list.len || ferror(file)) {
		code_maps_deinit(ret);
		return error_create(ERROR_GONE, "process %d has exited", tid);
	}
	return NULL;
}

void code_maps_deinit(struct code_maps *maps)
{
	vec_foreach (map, &maps->list) {
		free(map->path);
		closep(&map->fd);
		elf_names_destroy(map->names);
	}
	vec_deinit(&maps->list);
	*maps = (struct code_maps){0};
}

/* libbcc opens files so. That it is another file by now cannot be told from the numbers
 * of devices and inodes alone: some file systems have two of them (target/file_names.h).
 */
static bool has_path(const struct code_map *map, int tid)
{
	_cleanup_(freep) char *path = NULL;
	struct stat st;

	if (asprintf(&path, "/proc/%d/root%s", tid, map->path) < 0) {
		path = NULL;
		return false;
	}
	return !stat(path, &st);
}

void code_maps_open(struct code_maps *maps, int tid)
{
	size_t opened = 0;

	vec_foreach (map, &maps->list) {
		char path[80];

		if (!map->path || opened == OPENED_MAX || has_path(map, tid))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64,
			 tid, map->start, map->end);
		map->fd = regular_file_open(path);
		opened += map->fd >= 0;
	}
}

struct code_map *code_maps_find(const struct code_maps *maps, uint64_t address)
{
	vec_foreach (map, &maps->list) {
		if (address >= map->start && address < map->end)
			return map;
	}
	return NULL;
}

static void read_names(struct code_map *map)
{
	struct debug_elf *image;
	struct error *err = debug_elf_open(map->fd, &image);

	map->fd = -1;
	if (!err)
		err = elf_names_create(image, &map->names);
	/* Then there are no names. */
	error_destroy(err);
}

const char *code_map_name(struct code_map *map, uint64_t address, uint64_t *ret_offset)
{
	if (map->fd >= 0)
		read_names(map);
	return map->names ? elf_names_find_at(map->names,
					      address - map->start + map->file_offset,
					      ret_offset)
			  : NULL;
}
