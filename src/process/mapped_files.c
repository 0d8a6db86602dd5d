// SPDX-License-Identifier: Apache-2.0
#include "process/mapped_files.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sysmacros.h>

#include "process/live_thread.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/open_helper.h"

/* Files of a process that are compared through map_files. */
#define RANGES_MAX 16

/* The mappings are read again after this many times the time that it took. */
#define REST 20

void mapped_files_deinit(struct mapped_files *files)
{
	vec_deinit(&files->list);
	*files = (struct mapped_files){.read_ns = 0};
}

static int by_numbers(const void *pa, const void *pb)
{
	const struct mapped_file *a = pa, *b = pb;

	if (a->inode != b->inode)
		return a->inode < b->inode ? -1 : 1;
	if (a->major != b->major)
		return a->major < b->major ? -1 : 1;
	if (a->minor != b->minor)
		return a->minor < b->minor ? -1 : 1;
	return a->start < b->start ? -1 : a->start > b->start;
}

static bool is_same_file(const struct mapped_file *a, const struct mapped_file *b)
{
	return a->inode == b->inode && a->major == b->major && a->minor == b->minor;
}

static void keep_each_once(struct mapped_files *files)
{
	size_t kept = 0;

	if (files->list.len)
		qsort(files->list.data, files->list.len, sizeof(*files->list.data),
		      by_numbers);
	vec_foreach (file, &files->list)
		if (!kept || !is_same_file(file, &files->list.data[kept - 1]))
			files->list.data[kept++] = *file;
	files->list.len = kept < MAPPED_FILES_MAX ? kept : MAPPED_FILES_MAX;
}

static void read_mappings(struct mapped_files *files, const struct proc *proc)
{
	_cleanup_(proc_maps_deinit) struct proc_maps maps = {0};
	uint64_t begin_ns = clock_now_ns();
	struct error *err = proc_read_maps(proc, &maps);

	files->list.len = 0;
	vec_foreach (m, &maps.mappings) {
		struct mapped_file file = {m->inode, m->dev_major, m->dev_minor, m->start,
					   m->end};

		if (m->inode && !vec_push(&files->list, file))
			break;
	}
	keep_each_once(files);
	error_destroy(err);
	files->read_ns = clock_now_ns();
	files->cost_ns = files->read_ns - begin_ns;
}

/* Does this range's link lead to the file? */
static bool leads_to(const struct proc *proc, const struct mapped_file *file,
		     const struct stat *st)
{
	char name[64];
	struct stat mapped;

	snprintf(name, sizeof(name), "map_files/%" PRIx64 "-%" PRIx64, file->start,
		 file->end);

	_cleanup_(closep) int place =
		live_thread_open(proc->pid, name, O_PATH | O_CLOEXEC);

	return place >= 0 && !open_helper_stat(place, "", &mapped) &&
	       mapped.st_ino == st->st_ino && mapped.st_dev == st->st_dev;
}

static bool find(const struct mapped_files *files, const struct proc *proc,
		 const struct stat *st)
{
	size_t first = vec_count_up_to(&files->list, inode, st->st_ino - 1);
	size_t end = first;

	for (; end < files->list.len && files->list.data[end].inode == st->st_ino; end++)
		if (files->list.data[end].major == major(st->st_dev) &&
		    files->list.data[end].minor == minor(st->st_dev))
			return true;
	for (size_t i = first; i < end && i - first < RANGES_MAX && !proc->stand_in; i++)
		if (leads_to(proc, &files->list.data[i], st))
			return true;
	return false;
}

bool mapped_files_have(struct mapped_files *files, const struct proc *proc,
		       const struct stat *st)
{
	bool is_known = files->read_ns && find(files, proc, st);

	if (is_known ||
	    (files->read_ns && clock_now_ns() - files->read_ns < REST * files->cost_ns))
		return is_known;
	read_mappings(files, proc);
	return find(files, proc, st);
}
