// SPDX-License-Identifier: Apache-2.0
#include "symbol/code_maps.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "dwarf/elf_names.h"
#include "process/procfs.h"
#include "util/cleanup.h"
#include "util/ends_first.h"
#include "util/regular_file.h"
#include "util/text_hash.h"

/* Bounds against hostile programs. Real programs map some hundred files. */
#define OPENED_MAX      256
#define SHOWN_MAX       4096
#define SHOWN_FILES_MAX 1024

/* --- reading --------------------------------------------------------------------------
 */

static bool add_file(struct code_maps *maps, const char *text, size_t path, uint64_t hash,
		     uint32_t *ret)
{
	struct code_file file = {
		.fd = -1, .text = strdup(text), .first = CODE_MAP_LEFT_OUT};

	if (!file.text)
		return false;
	file.path = text[path] == '/' ? file.text + path : NULL;
	if (!vec_push(&maps->files, file)) {
		free(file.text);
		return false;
	}
	*ret = (uint32_t)(maps->files.len - 1);
	return hashmap_put(&maps->by_text, hash, *ret);
}

/* The file whose lines end with `text`. A target can give two texts the same hash. The
 * earlier of the two is then no longer found, and gets a second entry, which only costs
 * memory. False when out of memory. */
static bool find_file(struct code_maps *maps, const char *text, size_t path,
		      uint32_t *ret)
{
	uint64_t hash = text_hash(text), index;

	if (hashmap_get(&maps->by_text, hash, &index) &&
	    !strcmp(maps->files.data[index].text, text)) {
		*ret = (uint32_t)index;
		return true;
	}
	return add_file(maps, text, path, hash, ret);
}

/* Take a line of /proc/PID/maps (proc(5)); false when out of memory. Anonymous code (of
 * a JIT compiler) is skipped: it has no file, and its frequent changes must not cause
 * new caches. */
static bool add_line(struct code_maps *maps, char *line)
{
	struct code_map map = {.shown = CODE_MAP_LEFT_OUT};
	size_t len = maps->list.len;
	char permissions[5];
	int device = 0, path = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %n%*s %*s %n",
		   &map.start, &map.end, permissions, &map.file_offset, &device,
		   &path) < 4 ||
	    !path || !line[path] || !strchr(permissions, 'x'))
		return true;
	/* The kernel does not write the file atomically: lines may overlap. */
	if (map.start >= map.end || (len && map.start < maps->list.data[len - 1].end))
		return true;
	maps->hash = text_hash_more(maps->hash, line);
	return find_file(maps, line + device, (size_t)(path - device), &map.file) &&
	       vec_push(&maps->list, map);
}

static struct error *take_lines(const char *text, int tid, struct code_maps *maps)
{
	_cleanup_(freep) char *line = NULL;

	for (size_t size; *text; text += size) {
		size = strcspn(text, "\n");
		free(line);
		line = strndup(text, size);
		if (!line || !add_line(maps, line))
			return error_no_memory();
		size += text[size] == '\n';
	}
	/* A process that is exiting has no mappings. */
	return maps->list.len ? NULL
			      : error_create(ERROR_GONE, "process %d has exited", tid);
}

static struct error *read_text(int tid, struct maps_text *ret)
{
	int errnum =
		procfs_read(tid, "maps", PROCFS_MAPS_BYTES, &ret->text, &ret->size_bytes);

	if (errnum == EFBIG)
		return error_create(ERROR_UNSUPPORTED, "/proc/%d/maps is too long", tid);
	if (errnum == ENOMEM)
		return error_no_memory();
	return errnum ? error_errno(errnum == ENOENT || errnum == ESRCH ? ERROR_GONE
									: ERROR_IO,
				    errnum, "cannot read /proc/%d/maps", tid)
		      : NULL;
}

/* --- lines shown to libbcc ------------------------------------------------------------
 */

struct choice {
	struct code_maps *maps;
	struct hashmap by_part; /* hash of file, offset and size, to an index of a line */
	size_t lines, files;    /* chosen so far */
};

static uint64_t hash_part(const struct code_map *map)
{
	uint64_t hash = map->file_offset * UINT64_C(0x9e3779b97f4a7c15);

	return (hash ^ map->file) * UINT64_C(0x9e3779b97f4a7c15) ^
	       (map->end - map->start);
}

static bool shows_same(const struct code_map *a, const struct code_map *b)
{
	return a->file == b->file && a->file_offset == b->file_offset &&
	       a->end - a->start == b->end - b->start;
}

/* May libbcc be shown lines of this file? libbcc reads a path into a buffer of PATH_MAX
 * bytes, however long the path is. For a memfd it searches all descriptors of the
 * process for the file, once for each line. code_maps_open() opens such files through
 * /proc/PID/map_files instead. */
static bool is_for_bcc(const struct code_file *file)
{
	return strlen(file->text) < PATH_MAX &&
	       !(file->path && !strncmp(file->path, "/memfd:", strlen("/memfd:")));
}

/* Is there still room for a line of this file? */
static bool has_room(const struct choice *choice, const struct code_file *file)
{
	return (file->first != CODE_MAP_LEFT_OUT || choice->files < SHOWN_FILES_MAX) &&
	       (!is_for_bcc(file) || choice->lines < SHOWN_MAX);
}

/* Choose a line, or find the line that stands for it. False when out of memory. */
static bool choose(struct choice *choice, size_t index)
{
	struct code_maps *maps = choice->maps;
	struct code_map *map = &maps->list.data[index];
	struct code_file *file = &maps->files.data[map->file];
	uint64_t hash = hash_part(map), other;

	if (hashmap_get(&choice->by_part, hash, &other) &&
	    shows_same(map, &maps->list.data[other])) {
		map->shown = (uint32_t)other;
		return true;
	}
	if (!has_room(choice, file)) {
		maps->left_out++;
		return true;
	}
	if (file->first == CODE_MAP_LEFT_OUT) {
		file->first = (uint32_t)index;
		choice->files++;
	}
	if (!is_for_bcc(file))
		return true;
	choice->lines++;
	map->shown = (uint32_t)index;
	return hashmap_put(&choice->by_part, hash, index);
}

static struct error *choose_all(struct code_maps *maps, uint64_t seed)
{
	struct choice choice = {.maps = maps};
	bool ok = true;

	hashmap_init(&choice.by_part, seed);
	for (size_t i = 0; ok && i < maps->list.len; i++)
		ok = choose(&choice, ends_first(i, maps->list.len));
	hashmap_deinit(&choice.by_part);
	return ok ? NULL : error_no_memory();
}

struct error *code_maps_read(int tid, struct code_maps *ret, struct maps_text *ret_text)
{
	struct maps_text text = {0};
	struct error *err = read_text(tid, &text);
	_cleanup_(freep) char *owned = text.text;
	uint64_t seed = hashmap_seed();

	*ret = (struct code_maps){.hash = TEXT_HASH_BEGIN};
	if (err)
		return err;
	hashmap_init(&ret->by_text, seed);
	err = take_lines(text.text, tid, ret);
	if (!err)
		err = choose_all(ret, seed);
	hashmap_deinit(&ret->by_text);
	if (err) {
		code_maps_deinit(ret);
	} else {
		*ret_text = text;
		owned = NULL;
	}
	return err;
}

void code_maps_deinit(struct code_maps *maps)
{
	vec_foreach (file, &maps->files) {
		free(file->text);
		closep(&file->fd);
		elf_names_destroy(file->names);
	}
	vec_deinit(&maps->files);
	vec_deinit(&maps->list);
	hashmap_deinit(&maps->by_text);
	*maps = (struct code_maps){0};
}

void code_maps_put_shown(const struct code_maps *maps, struct strbuf *out)
{
	for (size_t i = 0; i < maps->list.len; i++) {
		const struct code_map *map = &maps->list.data[i];

		if (map->shown == i)
			strbuf_appendf(out,
				       "%" PRIx64 "-%" PRIx64 " r-xp %" PRIx64 " %s\n",
				       map->start, map->end, map->file_offset,
				       maps->files.data[map->file].text);
	}
}

/* --- files ----------------------------------------------------------------------------
 */

/* Does the path lead to a file? libbcc opens files by this path. Device and inode
 * numbers cannot tell whether it is still the same file: some file systems report two
 * different device numbers (process/file_names.h). */
static bool has_path(const struct code_file *file, int tid)
{
	_cleanup_(freep) char *path = NULL;
	struct stat st;

	if (asprintf(&path, "/proc/%d/root%s", tid, file->path) < 0) {
		path = NULL;
		return false;
	}
	return !stat(path, &st);
}

static int open_mapping(const struct code_map *map, int tid)
{
	char path[80];

	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, tid,
		 map->start, map->end);
	return regular_file_open(path);
}

/* Is its file left out, and the mapping not yet counted as left out itself? */
static bool is_without_file(const struct code_maps *maps, const struct code_map *map)
{
	const struct code_file *file = &maps->files.data[map->file];

	return file->is_left_out &&
	       (map->shown != CODE_MAP_LEFT_OUT || !is_for_bcc(file));
}

void code_maps_open(struct code_maps *maps, int tid)
{
	vec_foreach (file, &maps->files) {
		if (!file->path || file->first == CODE_MAP_LEFT_OUT ||
		    (is_for_bcc(file) && has_path(file, tid)))
			continue;
		file->is_left_out = maps->opened == OPENED_MAX;
		if (file->is_left_out)
			continue;
		file->fd = open_mapping(&maps->list.data[file->first], tid);
		maps->opened += file->fd >= 0;
	}
	vec_foreach (map, &maps->list)
		maps->left_out += is_without_file(maps, map);
}

/* --- answers --------------------------------------------------------------------------
 */

const struct code_map *code_maps_find(const struct code_maps *maps, uint64_t address)
{
	size_t count = vec_count_up_to(&maps->list, start, address);
	const struct code_map *map = count ? &maps->list.data[count - 1] : NULL;

	return map && address < map->end ? map : NULL;
}

const struct code_map *code_maps_shown(const struct code_maps *maps,
				       const struct code_map *map)
{
	return map->shown == CODE_MAP_LEFT_OUT ? NULL : &maps->list.data[map->shown];
}

const char *code_maps_path(const struct code_maps *maps, const struct code_map *map)
{
	return maps->files.data[map->file].path;
}

static void read_names(struct code_file *file)
{
	struct debug_elf *image;
	struct error *err = debug_elf_open(file->fd, &image);

	file->fd = -1;
	if (!err)
		err = elf_names_create(image, &file->names);
	/* On failure the file has no names. */
	error_destroy(err);
}

const char *code_maps_name(struct code_maps *maps, const struct code_map *map,
			   uint64_t address, uint64_t *ret_offset)
{
	struct code_file *file = &maps->files.data[map->file];

	if (file->fd >= 0)
		read_names(file);
	return file->names ? elf_names_find_at(file->names,
					       address - map->start + map->file_offset,
					       ret_offset)
			   : NULL;
}
