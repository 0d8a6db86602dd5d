// SPDX-License-Identifier: Apache-2.0
#include "process/file_names.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <linux/magic.h>

#include "process/maps.h"
#include "process/procfs.h"
#include "process/watch.h"
#include "util/cleanup.h"
#include "util/file_system.h"
#include "util/open_helper.h"
#include "util/regular_file.h"

#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546 /* include/uapi/linux/magic.h, Linux 5.10 */
#endif

DEFINE_CLEANUP(struct watch *, watch_destroy);

enum naming {
	NAMES_AGREE,
	NAMES_DIFFER_FROM_STAT, /* only stat(2) differs from the others */
	NAMES_DIFFER,
};

/* overlayfs, and FUSE since 6.9 (fs/fuse/passthrough.c), map the file of another file
 * system instead of their own. */
static enum naming naming_of(int fd)
{
	uint64_t system = file_system_of(fd);

	if (!system || system == OVERLAYFS_SUPER_MAGIC || system == FUSE_SUPER_MAGIC)
		return NAMES_DIFFER;
	return system == BTRFS_SUPER_MAGIC ? NAMES_DIFFER_FROM_STAT : NAMES_AGREE;
}

/* Which name perf events give to the mapping at `start`. */
struct question {
	uint64_t start;
	bool is_answered;
	struct file_name answer;
};

static bool hear(void *arg, const struct watch_event *event)
{
	struct question *q = arg;

	if (event->kind != WATCH_MAP || event->start != q->start)
		return false;
	q->answer = (struct file_name){event->inode, event->dev_major, event->dev_minor};
	q->is_answered = true;
	return true;
}

static bool find_listed(uint64_t start, struct file_name *ret)
{
	_cleanup_(freep) char *text = NULL;
	struct proc_maps maps = {0};
	bool is_found = false;
	size_t size;

	if (procfs_read(getpid(), "maps", PROCFS_MAPS_BYTES, &text, &size))
		return false;
	error_destroy(maps_parse(text, size, &maps));
	vec_foreach (m, &maps.mappings) {
		if (start < m->start || start >= m->end)
			continue;
		*ret = file_name_of(m);
		is_found = true;
	}
	proc_maps_deinit(&maps);
	return is_found;
}

static struct file_name by_stat(const struct stat *st)
{
	return (struct file_name){st->st_ino, major(st->st_dev), minor(st->st_dev)};
}

bool file_names_ask(int fd, const struct file_name *wanted, struct file_names *ret)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	_cleanup_(watch_destroyp) struct watch *watch = NULL;
	struct question q = {0};
	struct stat st;
	enum naming naming;
	bool is_listed;
	void *at;

	if (open_helper_stat(fd, "", &st) || !S_ISREG(st.st_mode))
		return false;
	ret->reported = ret->listed = by_stat(&st);
	naming = naming_of(fd);
	if (naming == NAMES_AGREE || (naming == NAMES_DIFFER_FROM_STAT && wanted &&
				      file_name_is(&ret->reported, wanted)))
		return true;
	if (naming == NAMES_DIFFER)
		error_destroy(watch_create_own(&watch));
	/* The mapping is never accessed. */
	at = mmap(NULL, page_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		return false;
	q.start = (uint64_t)(uintptr_t)at;
	is_listed = find_listed(q.start, &ret->listed);
	if (watch)
		watch_read(watch, hear, &q);
	ret->reported = q.is_answered ? q.answer : ret->listed;
	munmap(at, page_bytes);
	return is_listed;
}

bool file_names_by_stat(int place, struct file_names *ret)
{
	struct stat st;

	if (place < 0 || open_helper_stat(place, "", &st))
		return false;
	ret->reported = ret->listed = by_stat(&st);
	return true;
}

bool file_names_agree(int place, const struct file_name *name)
{
	struct file_names names;

	return file_names_by_stat(place, &names) && file_name_is(&names.reported, name);
}

bool file_names_check(int place, const struct file_name *name, struct file_names *ret)
{
	_cleanup_(closep) int fd = -1;
	enum naming naming;
	struct stat st;

	if (place < 0 || open_helper_stat(place, "", &st) || !S_ISREG(st.st_mode))
		return false;
	ret->reported = ret->listed = by_stat(&st);
	naming = naming_of(place);
	if (naming == NAMES_AGREE ||
	    (naming == NAMES_DIFFER_FROM_STAT && ret->reported.inode != name->inode))
		return file_name_is(&ret->reported, name);
	fd = regular_file_reopen(place);
	return fd >= 0 && file_names_ask(fd, name, ret) && file_names_have(ret, name);
}

bool file_names_of_place(int place, struct file_names *ret)
{
	struct stat st;

	if (place < 0 || open_helper_stat(place, "", &st))
		return false;

	const struct file_name name = by_stat(&st);
	_cleanup_(closep) int fd = -1;

	if (S_ISREG(st.st_mode) && naming_of(place) != NAMES_AGREE)
		fd = regular_file_reopen(place);
	if (fd < 0 || !file_names_ask(fd, NULL, ret))
		*ret = (struct file_names){name, name};
	return true;
}

bool file_names_of_path(const char *path, struct file_names *ret)
{
	_cleanup_(closep) int place = open(path, O_PATH | O_CLOEXEC);

	return file_names_of_place(place, ret);
}
