// SPDX-License-Identifier: Apache-2.0
#include "process/stand_in.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/maps_files.h"
#include "util/cleanup.h"
#include "util/regular_file.h"
#include "util/strbuf.h"

DEFINE_CLEANUP(struct stand_in *, stand_in_destroy);

struct stand_in {
	int maps_fd; /* file with the text of "maps" */
	int root_fd;
	struct proc_maps maps;
	size_t program; /* index of the program's mapping */
};

static bool copy_maps(const struct proc_maps *maps, struct proc_maps *ret)
{
	vec_foreach (m, &maps->mappings) {
		struct proc_mapping copy = *m;

		copy.path = strdup(m->path);
		if (!copy.path || !vec_push(&ret->mappings, copy)) {
			free(copy.path);
			return false;
		}
	}
	return true;
}

static void put_path(struct strbuf *out, const char *path)
{
	for (; *path; path++) {
		if (*path == '\n')
			strbuf_append(out, MAPS_NEWLINE);
		else
			strbuf_append_char(out, *path);
	}
}

/* The format is show_map_vma()'s (fs/proc/task_mmu.c). */
static void put_mapping(struct strbuf *out, const struct proc_mapping *m)
{
	strbuf_appendf(
		out, "%" PRIx64 "-%" PRIx64 " r-xp %08" PRIx64 " %02x:%02x %" PRIu64 " ",
		m->start, m->end, m->file_offset, m->dev_major, m->dev_minor, m->inode);
	put_path(out, m->path);
	strbuf_append_char(out, '\n');
}

static struct error *write_maps(struct stand_in *self)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0};

	vec_foreach (m, &self->maps.mappings)
		put_mapping(&text, m);
	if (text.failed)
		return error_no_memory();
	self->maps_fd = memfd_create("memtrace-maps", MFD_CLOEXEC);
	if (self->maps_fd < 0 || (text.len && pwrite(self->maps_fd, strbuf_text(&text),
						     text.len, 0) != (ssize_t)text.len))
		return error_errno(ERROR_IO, errno,
				   "cannot keep the mappings of an exited process");
	return NULL;
}

static struct error *fill(struct stand_in *self, const struct proc_maps *maps,
			  const struct proc_mapping *program, int root_fd)
{
	self->maps_fd = -1;
	self->program = (size_t)(program - maps->mappings.data);
	self->root_fd = fcntl(root_fd, F_DUPFD_CLOEXEC, 0);
	if (self->root_fd < 0)
		return error_errno(
			ERROR_IO, errno,
			"cannot keep the root directory of an exited process open");
	if (!copy_maps(maps, &self->maps))
		return error_no_memory();
	return write_maps(self);
}

struct error *stand_in_create(const struct proc_maps *maps,
			      const struct proc_mapping *program, int root_fd,
			      struct stand_in **ret)
{
	_cleanup_(stand_in_destroyp) struct stand_in *self = calloc(1, sizeof(*self));
	struct error *err = self ? fill(self, maps, program, root_fd) : error_no_memory();

	if (err)
		return err;
	*ret = take(self);
	return NULL;
}

void stand_in_destroy(struct stand_in *self)
{
	if (!self)
		return;
	closep(&self->maps_fd);
	closep(&self->root_fd);
	proc_maps_deinit(&self->maps);
	free(self);
}

int stand_in_root_fd(const struct stand_in *self)
{
	return self->root_fd;
}

struct error *stand_in_maps(const struct stand_in *self, struct proc_maps *ret)
{
	*ret = (struct proc_maps){.mappings = {0}};
	if (copy_maps(&self->maps, ret))
		return NULL;
	proc_maps_deinit(ret);
	return error_no_memory();
}

static int find_file(const struct stand_in *self, const struct proc_mapping *m)
{
	int place = place_find_plain(self->root_fd, m->path);

	if (place < 0 || maps_is_file(place, m))
		return place;
	close(place);
	errno = ENOENT;
	return -1;
}

static int find_range(const struct stand_in *self, const char *range)
{
	uint64_t start, end;
	char more;

	if (sscanf(range, "%" SCNx64 "-%" SCNx64 "%c", &start, &end, &more) == 2)
		vec_foreach (m, &self->maps.mappings)
			if (m->start == start && m->end == end)
				return find_file(self, m);
	errno = ENOENT;
	return -1;
}

int stand_in_find(const struct stand_in *self, const char *name)
{
	static const char map_files[] = "map_files/";
	char link[32];

	if (!strcmp(name, "maps")) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", self->maps_fd);
		return open(link, O_PATH | O_CLOEXEC);
	}
	if (!strcmp(name, "exe"))
		return find_file(self, &self->maps.mappings.data[self->program]);
	if (!strncmp(name, map_files, strlen(map_files)))
		return find_range(self, name + strlen(map_files));
	errno = ENOENT;
	return -1;
}

bool stand_in_is_other(const struct stand_in *self, const char *path, int place)
{
	bool is_mapped = false;

	vec_foreach (m, &self->maps.mappings) {
		if (strcmp(m->path, path) != 0)
			continue;
		if (maps_is_file(place, m))
			return false;
		is_mapped = true;
	}
	return is_mapped;
}

bool stand_in_is_maps(const struct stand_in *self, int fd)
{
	struct stat ours, theirs;

	return !fstat(self->maps_fd, &ours) && !fstat(fd, &theirs) &&
	       ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}
