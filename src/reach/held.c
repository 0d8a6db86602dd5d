// SPDX-License-Identifier: Apache-2.0
#include "reach/held.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/live_thread.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/units.h"

#define EPOLL_LINK "anon_inode:[eventpoll]"
#define URING_LINK "anon_inode:[io_uring]"

/* Longer than both names, so a truncated link equals neither. */
#define LINK_SIZE 32

/* The ring of events of io_setup(2) (aio_private_file(), fs/aio.c) */
#define AIO_PATH "/[aio]"

static void scan_word(struct reach_marks *marks, uint64_t word)
{
	reach_marks_scan(marks, &(struct reach_piece){0, &word, sizeof(word), 0},
			 REACH_REACHED);
}

/* Scan the hexadecimal number behind each `key` of the file. */
static bool scan_file(int dir, const char *name, const char *key, uint64_t deadline_ns,
		      struct reach_marks *marks)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	_cleanup_(fclosep) FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	char line[256];

	if (!file) {
		if (fd >= 0)
			close(fd);
		/* Closed meanwhile, or the kernel has no such file. */
		return true;
	}
	while (fgets(line, sizeof(line), file)) {
		const char *at = strstr(line, key);

		if (at)
			scan_word(marks, strtoull(at + strlen(key), NULL, 16));
		if (clock_now_ns() > deadline_ns)
			return false;
	}
	return !ferror(file);
}

/* What the descriptor is, as the kernel names it: not a path that the target chose, since
 * nothing is opened by it. */
static void read_link(int links, const char *name, char ret[LINK_SIZE])
{
	ssize_t size = readlinkat(links, name, ret, LINK_SIZE - 1);

	ret[size > 0 ? size : 0] = '\0';
}

static int open_dir(int tid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", tid, name);
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static bool scan_epoll(int pid, uint64_t deadline_ns, struct reach_marks *marks,
		       bool *ret_rings)
{
	/* The main thread may have exited. It has no descriptors then. */
	int tid = live_thread_begin(pid).tid;
	_cleanup_(closep) int infos = open_dir(tid, "fdinfo");
	int links = open_dir(tid, "fd");
	_cleanup_(closedirp) DIR *dir = links < 0 ? NULL : fdopendir(links);
	bool is_whole = true;

	if (!dir || infos < 0) {
		if (!dir && links >= 0)
			close(links);
		return false;
	}
	for (struct dirent *entry; is_whole && (entry = readdir(dir));) {
		char link[LINK_SIZE];
		uint64_t number;

		if (!units_parse_integer(entry->d_name, 0, INT_MAX, &number))
			continue;
		read_link(links, entry->d_name, link);
		if (!strcmp(link, EPOLL_LINK))
			is_whole = scan_file(infos, entry->d_name, "data:", deadline_ns,
					     marks);
		else if (!strcmp(link, URING_LINK))
			*ret_rings = true;
		if (clock_now_ns() > deadline_ns)
			return false;
	}
	return is_whole;
}

/* A line is "signal: 10/0000557a1c3e42a0": the signal and its value. */
static bool scan_timers(int pid, uint64_t deadline_ns, struct reach_marks *marks)
{
	char path[64], line[256];

	snprintf(path, sizeof(path), "/proc/%d/timers", pid);

	_cleanup_(fclosep) FILE *file = fopen(path, "re");

	while (file && fgets(line, sizeof(line), file)) {
		const char *slash = strchr(line, '/');

		if (!strncmp(line, "signal:", 7) && slash)
			scan_word(marks, strtoull(slash + 1, NULL, 16));
		if (clock_now_ns() > deadline_ns)
			return false;
	}
	return true;
}

/* io_setup(2) gives no descriptor, only a mapping. An io_uring can be used without its
 * descriptor (IORING_REGISTER_RING_FDS), but not without its mappings. */
static bool maps_ring(const struct proc_maps *maps)
{
	vec_foreach (m, &maps->mappings)
		if (!strcmp(m->path, AIO_PATH) || !strcmp(m->path, URING_LINK))
			return true;
	return false;
}

bool reach_held_scan(int pid, const struct proc_maps *maps, uint64_t deadline_ns,
		     struct reach_marks *marks, bool *ret_rings)
{
	if (maps_ring(maps))
		*ret_rings = true;
	return scan_timers(pid, deadline_ns, marks) &&
	       scan_epoll(pid, deadline_ns, marks, ret_rings);
}
