// SPDX-License-Identifier: Apache-2.0
#include "reach/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/cleanup.h"
#include "util/open_child.h"

/* With more regions of the process, further mappings are not divided. */
#define REGIONS_MAX 65536

/* An O_PATH descriptor of the mapping's file, and its size. -1: memtrace may not look at
 * it, or it is not a regular file, and *ret_is_device is set. */
static int find_file(int tid, const struct proc_mapping *m, uint64_t *ret_size_bytes,
		     bool *ret_is_device)
{
	struct stat st;
	char path[96];
	int place;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, tid,
		 m->start, m->end);
	place = open(path, O_PATH | O_CLOEXEC);
	if (place < 0)
		return -1;
	if (fstat(place, &st) || !S_ISREG(st.st_mode)) {
		*ret_is_device = true;
		close(place);
		return -1;
	}
	*ret_size_bytes = (uint64_t)st.st_size;
	return place;
}

/*
 * May the process have written this memory before it made it read-only? By the names of
 * memfd_create(2), shared anonymous memory, shm_open(3) and shmget(2). Other files are
 * often mapped read-only and seldom after being written: they are not searched. Of their
 * file system nothing is asked, since its server may not answer.
 */
static bool may_be_written(const struct proc_mapping *m)
{
	static const char *const names[] = {"/memfd:", "/dev/zero", "/dev/shm/", "/SYSV",
					    "/anon_hugepage"};

	if (m->writable)
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(m->path, names[i], strlen(names[i])))
			return true;
	return false;
}

/* Open the file if it is in memory, so that no server has to answer; otherwise -1. */
static int open_in_memory(int place)
{
	return open_call_system(place) == TMPFS_MAGIC ? open_call_reopen(place, 0) : -1;
}

/* Find the first part with data from `from` on. Without holes it ends at `end`. */
static void find_data(int fd, uint64_t end, uint64_t *from, uint64_t *to)
{
	off_t data = fd < 0 ? -1 : lseek(fd, (off_t)*from, SEEK_DATA), hole;

	*to = end;
	if (fd < 0)
		return;
	if (data < 0) {
		*from = errno == ENXIO ? end : *from;
		return;
	}
	hole = lseek(fd, data, SEEK_HOLE);
	*from = (uint64_t)data;
	if (hole > data && (uint64_t)hole < end)
		*to = (uint64_t)hole;
}

static bool add(const struct proc_mapping *m, uint64_t from, uint64_t to,
		struct reach_region region, struct reach_regions *regions)
{
	region.start = m->start + from - m->file_offset;
	region.end = m->start + to - m->file_offset;
	return vec_push(&regions->list, region);
}

bool reach_shared_add(int tid, const struct proc_mapping *m,
		      struct reach_regions *regions)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), size_bytes = 0;
	uint64_t from = m->file_offset, end = from + (m->end - m->start), to;
	struct reach_region region = {0};
	_cleanup_(closep) int place = -1;
	_cleanup_(closep) int fd = -1;

	if (!may_be_written(m))
		return true;
	if (regions->list.len < REGIONS_MAX)
		place = find_file(tid, m, &size_bytes, &region.is_device);
	if (place < 0)
		return add(m, from, end, region, regions);
	region.only_present = open_call_system(place) == HUGETLBFS_MAGIC;
	size_bytes = (size_bytes + page - 1) / page * page;
	if (end > size_bytes)
		end = size_bytes;
	fd = open_in_memory(place);
	for (; from < end; from = to) {
		find_data(regions->list.len < REGIONS_MAX ? fd : -1, end, &from, &to);
		if (from < end && !add(m, from, to, region, regions))
			return false;
	}
	return true;
}
