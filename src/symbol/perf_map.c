// SPDX-License-Identifier: Apache-2.0
#include "symbol/perf_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/file_user.h"
#include "process/live_thread.h"
#include "process/procfs.h"
#include "util/cleanup.h"
#include "util/open_helper.h"
#include "util/regular_file.h"
#include "util/vec.h"

#define FILE_MAX_BYTES ((size_t)256 << 20)
#define NAMES_MAX      ((size_t)4 << 20)
#define OVERLAPS_MAX   64u

/* How much of a growing file is read for one report: about 0.3 s of work. The next
 * report reads more. */
#define READ_MAX_BYTES ((size_t)64 << 20)
/* The last bytes already read are compared again. They are equal if the file was only
 * appended to. */
#define TAIL_BYTES 4096u

struct jitted {
	uint64_t start, end;
	size_t name; /* offset in the text */
};

struct perf_map {
	int root_fd;
	int namespace_pid; /* the process's pid in its own pid namespace */
	uid_t uid;         /* whose files the process creates (proc(5), "Uid:") */
	struct stat st;    /* of the file when it was read; st_ino 0: never read */
	bool may_read;     /* set once for each report */
	char *text;    /* the complete lines, with NUL for newline, and a partial line */
	size_t size;   /* of `text`, bytes */
	size_t parsed; /* bytes of complete lines in `text` */
	uint64_t ignored;        /* lines of code without room */
	VEC(struct jitted) code; /* by start, then in the order of lines */
};

/* Without a status, only a file of root is read. */
static void read_status(struct perf_map *map, int pid)
{
	_cleanup_(freep) char *status = NULL;
	struct file_user user;
	size_t size;

	if (procfs_read(pid, "status", PROCFS_SMALL_BYTES, &status, &size))
		return;
	if (procfs_namespace_pid(status))
		map->namespace_pid = procfs_namespace_pid(status);
	if (file_user_parse(status, &user))
		map->uid = user.uid;
}

struct perf_map *perf_map_create(int pid)
{
	struct perf_map *map = calloc(1, sizeof(*map));

	if (!map)
		return NULL;
	map->root_fd = live_thread_open(pid, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	map->namespace_pid = pid;
	read_status(map, pid);
	return map;
}

void perf_map_destroy(struct perf_map *map)
{
	if (!map)
		return;
	closep(&map->root_fd);
	free(map->text);
	vec_deinit(&map->code);
	free(map);
}

static bool is_trusted(const struct perf_map *map, int place)
{
	struct stat st;

	return place >= 0 && !open_helper_stat(place, "", &st) &&
	       file_user_trusts(map->uid, &st);
}

/* The file, open for reading; -1: missing, or not to be trusted. */
static int open_file(const struct perf_map *map, struct stat *st)
{
	_cleanup_(closep) int place = -1;
	char path[48];
	int fd = -1;

	snprintf(path, sizeof(path), "tmp/perf-%d.map", map->namespace_pid);
	if (map->root_fd >= 0)
		place = place_find(map->root_fd, path, O_NOFOLLOW);
	if (is_trusted(map, place))
		fd = regular_file_reopen(place);
	if (fd >= 0 && fstat(fd, st)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev &&
	       a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

bool perf_map_changed(struct perf_map *map)
{
	struct stat st = {.st_ino = 0};
	int fd = open_file(map, &st);

	map->may_read = true;
	if (fd < 0)
		return false;
	close(fd);
	return map->st.st_ino && (!is_same(&st, &map->st) || perf_map_left(map));
}

/* Parse one line without its newline; false if it is malformed. */
static bool parse_line(char *line, const char *text, struct jitted *ret)
{
	char *end;

	errno = 0;
	ret->start = strtoull(line, &end, 16);
	if (end == line || *end != ' ')
		return false;
	line = end + 1;
	ret->end = ret->start + strtoull(line, &end, 16);
	if (end == line || *end != ' ' || errno || ret->end <= ret->start)
		return false;
	ret->name = (size_t)(end + 1 - text);
	return end[1] != '\0';
}

static int compare(const void *pa, const void *pb)
{
	const struct jitted *a = pa, *b = pb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

/* Parse the new lines of the text. */
static void parse(struct perf_map *map)
{
	char *line = map->text + map->parsed, *end = map->text + map->size, *newline;
	size_t before = map->code.len;

	/* The last line may still be incomplete. */
	while (line < end && (newline = memchr(line, '\n', (size_t)(end - line)))) {
		struct jitted code;

		*newline = '\0';
		if (parse_line(line, map->text, &code) &&
		    (map->code.len == NAMES_MAX || !vec_push(&map->code, code)))
			map->ignored++;
		line = newline + 1;
	}
	map->parsed = (size_t)(line - map->text);
	if (map->code.len > before)
		qsort(map->code.data, map->code.len, sizeof(*map->code.data), compare);
}

static void drop_names(struct perf_map *map)
{
	free(map->text);
	vec_deinit(&map->code);
	map->text = NULL;
	map->size = map->parsed = 0;
	map->ignored = 0;
	map->st = (struct stat){.st_ino = 0};
}

static ssize_t read_at(int fd, void *bytes, size_t size, size_t offset)
{
	size_t done = 0;
	ssize_t n;

	while (done < size && (n = pread(fd, (char *)bytes + done, size - done,
					 (off_t)(offset + done))) > 0)
		done += (size_t)n;
	return (ssize_t)done;
}

/* Is it the file that was read before, with more at its end? */
static bool has_grown(const struct perf_map *map, int fd, const struct stat *st)
{
	size_t size = map->size < TAIL_BYTES ? map->size : TAIL_BYTES;
	char bytes[TAIL_BYTES];
	const char *tail;

	if (!map->text || st->st_ino != map->st.st_ino || st->st_dev != map->st.st_dev ||
	    (uint64_t)st->st_size < map->size ||
	    read_at(fd, bytes, size, map->size - size) != (ssize_t)size)
		return false;
	tail = map->text + map->size - size;
	for (size_t i = 0; i < size; i++)
		if (bytes[i] != tail[i] && (bytes[i] != '\n' || tail[i]))
			return false;
	return true;
}

/* Read the unread rest of the file, or the whole of a replaced one. */
static void refresh(struct perf_map *map)
{
	struct stat st = {.st_ino = 0};
	_cleanup_(closep) int fd = -1;
	size_t size;
	char *text;

	if (map->st.st_ino && !map->may_read)
		return;
	map->may_read = false;
	fd = open_file(map, &st);
	/* If the file is gone, its names stay. */
	if (fd < 0 || (map->st.st_ino && is_same(&st, &map->st) && !perf_map_left(map)))
		return;
	if (!has_grown(map, fd, &st))
		drop_names(map);
	size = (uint64_t)st.st_size < FILE_MAX_BYTES ? (size_t)st.st_size
						     : FILE_MAX_BYTES;
	size -= map->size;
	if (size > READ_MAX_BYTES)
		size = READ_MAX_BYTES;
	text = realloc(map->text, map->size + size + 1);
	if (!text)
		return;
	map->text = text;
	map->st = st;
	map->size += (size_t)read_at(fd, text + map->size, size, map->size);
	text[map->size] = '\0';
	parse(map);
}

uint64_t perf_map_left(const struct perf_map *map)
{
	uint64_t size = (uint64_t)map->st.st_size;

	size = size < FILE_MAX_BYTES ? size : FILE_MAX_BYTES;
	return size > map->size ? size - map->size : 0;
}

uint64_t perf_map_ignored(const struct perf_map *map)
{
	uint64_t size = (uint64_t)map->st.st_size;

	return map->ignored + (size > FILE_MAX_BYTES ? size - FILE_MAX_BYTES : 0);
}

const char *perf_map_find(struct perf_map *map, uint64_t address, uint64_t *ret_offset)
{
	const struct jitted *found = NULL;
	size_t low;

	refresh(map);
	low = vec_count_up_to(&map->code, start, address);
	for (size_t i = 0; i < OVERLAPS_MAX && i < low; i++) {
		const struct jitted *code = &map->code.data[low - 1 - i];

		if (address < code->end && (!found || code->name > found->name))
			found = code;
	}
	if (!found)
		return NULL;
	*ret_offset = address - found->start;
	return map->text + found->name;
}
