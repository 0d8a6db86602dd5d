// SPDX-License-Identifier: Apache-2.0
#include "target/other_code.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "target/file_pages.h"
#include "target/living.h"
#include "target/maps.h"
#include "target/procfs.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/regular_file.h"
#include "util/units.h"

/* Bounds on one search. The time also limits the memory for a huge number of processes;
 * a single process could otherwise use up both. */
#define SEARCH_NS           (2 * UNITS_NS_PER_S)
#define MAPS_BYTES          ((size_t)16 << 20)
#define MAPPINGS_OF_ONE_MAX 4096u
#define MAPPINGS_MAX        (1u << 20)
#define PAGES_MAX           16384u /* of a mapping; what is beyond is compared whole */

/* A process that maps the same code more often, or has changed more parts of it, is left
 * out from there on. */
#define MAPPINGS_OF_FILE_MAX 16u
#define RUNS_OF_ONE_MAX      1024u

/* Reads of memory until the mappings are read again: some 2 s. */
#define READS_MAX 1000000u

/* How long the list of mappings is used: SETTLED_NS, or SHARE times as long as it took to
 * read. */
#define SETTLED_NS UNITS_NS_PER_S
#define SHARE      10u

/* Bits of /proc/PID/pagemap. */
#define PAGE_PRESENT (UINT64_C(1) << 63)
#define PAGE_SWAPPED (UINT64_C(1) << 62)
#define PAGE_OF_FILE (UINT64_C(1) << 61)

/* Code of a file, mapped by one process. */
struct mapped_code {
	int pid;
	struct file_name file;
	uint64_t start, end, file_offset;
};

/* A name with the inode number of a file, but another device. */
struct alike {
	struct file_name name;
	bool is_same; /* it is the same file */
};

/* The runs of one file. */
struct found_file {
	struct file_names names;
	VEC(struct alike) alike;
	struct other_runs runs;
};

struct reason {
	int pid;
	char text[80];
};

struct other_code {
	VEC(struct mapped_code) mappings;
	VEC(int) pids;                  /* whose mappings are listed, ascending */
	VEC(struct found_file *) files; /* found since the mappings were read */
	VEC(struct reason *) reasons;
	uint64_t end_ns;     /* CLOCK_MONOTONIC: when to read all mappings again */
	bool is_complete;    /* the mappings of all processes were read */
	uint64_t unread;     /* processes left out since the mappings were read */
	uint64_t unread_max; /* the same, before */
	int last_unread;     /* pid, so that it counts once */
	unsigned reads;
	uint64_t page_bytes;
};

struct other_code *other_code_create(void)
{
	struct other_code *others = calloc(1, sizeof(*others));

	if (others)
		others->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	return others;
}

static void leave_out(struct other_code *others, int pid)
{
	others->unread += pid != others->last_unread;
	others->last_unread = pid;
}

static void forget(struct other_code *others)
{
	others->unread_max = other_code_unread(others);
	others->unread = others->reads = 0;
	others->last_unread = 0;
	vec_foreach (file, &others->files) {
		vec_deinit(&(*file)->runs.list);
		vec_deinit(&(*file)->alike);
		free(*file);
	}
	others->files.len = others->mappings.len = others->pids.len = 0;
	others->is_complete = false;
}

void other_code_destroy(struct other_code *others)
{
	if (!others)
		return;
	forget(others);
	vec_foreach (reason, &others->reasons)
		free(*reason);
	vec_deinit(&others->files);
	vec_deinit(&others->mappings);
	vec_deinit(&others->pids);
	vec_deinit(&others->reasons);
	free(others);
}

/* --- mappings of all processes ---------------------------------------------------- */

struct error *other_code_add(struct other_code *others, int pid,
			     const struct proc_maps *maps)
{
	size_t count = 0;

	vec_foreach (m, &maps->mappings) {
		const struct mapped_code code = {pid, file_name_of(m), m->start, m->end,
						 m->file_offset};

		if (!m->executable || !m->inode)
			continue;
		if (count++ == MAPPINGS_OF_ONE_MAX ||
		    others->mappings.len == MAPPINGS_MAX) {
			leave_out(others, pid);
			break;
		}
		if (!vec_push(&others->mappings, code))
			return error_no_memory();
	}
	return vec_push(&others->pids, pid) ? NULL : error_no_memory();
}

static int compare_pids(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

/* 0, or the error of read(2). A kernel thread has an empty list. So does a main thread
 * that has ended: another thread has its mappings then. */
static int read_text(int pid, char **text, size_t *size)
{
	int err = procfs_read(pid, "maps", MAPS_BYTES, text, size);
	int tid = err || *size ? pid : living_begin(pid).tid;

	if (tid != pid) {
		free(take(*text));
		err = procfs_read(tid, "maps", MAPS_BYTES, text, size);
	}
	return err;
}

static struct error *read_process(struct other_code *others, int pid)
{
	_cleanup_(proc_maps_deinit) struct proc_maps maps = {0};
	_cleanup_(freep) char *text = NULL;
	int errnum;
	struct error *err;
	size_t size;

	errnum = read_text(pid, &text, &size);
	/* The same in each run of a sandbox that hides processes from root: no process
	 * can bring this about itself. */
	if (errnum == EACCES || errnum == EPERM)
		return NULL;
	if (errnum) {
		other_code_note_unread(others, pid);
		return NULL;
	}
	err = maps_parse(text, size, &maps);
	if (!err)
		return other_code_add(others, pid, &maps);
	if (err->code == ERROR_NO_MEMORY)
		return err;
	error_destroy(err);
	leave_out(others, pid);
	return NULL;
}

/* Read the mappings of all processes that were not added before. */
static struct error *read_all(struct other_code *others)
{
	_cleanup_(closedirp) DIR *dir = opendir("/proc");
	uint64_t begin_ns = clock_now_ns(), took_ns;
	size_t known = others->pids.len;
	struct error *err = NULL;
	uint64_t pid;

	if (!dir)
		return error_errno(ERROR_IO, errno, "cannot list /proc");
	if (known)
		qsort(others->pids.data, known, sizeof(int), compare_pids);
	for (struct dirent *entry; !err && (entry = readdir(dir));) {
		if (!units_parse_integer(entry->d_name, 1, INT_MAX, &pid))
			continue;

		int key = (int)pid;

		if (known &&
		    bsearch(&key, others->pids.data, known, sizeof(key), compare_pids))
			continue;
		if (clock_now_ns() - begin_ns > SEARCH_NS)
			leave_out(others, key);
		else
			err = read_process(others, key);
	}
	took_ns = (clock_now_ns() - begin_ns) * SHARE;
	others->end_ns = clock_now_ns() + (took_ns > SETTLED_NS ? took_ns : SETTLED_NS);
	others->is_complete = !err;
	return err;
}

/* --- pages of one file ------------------------------------------------------------ */

static bool add_run(struct other_runs *runs, const struct mapped_code *code,
		    uint64_t from, uint64_t size)
{
	struct other_run *last =
		runs->list.len ? &runs->list.data[runs->list.len - 1] : NULL;

	if (last && last->pid == code->pid && last->address + last->size == from &&
	    last->file_offset + last->size == code->file_offset + (from - code->start)) {
		last->size += size;
		return true;
	}
	return vec_push(
		&runs->list,
		((struct other_run){code->pid, from,
				    code->file_offset + (from - code->start), size}));
}

/* A page that is not there will be read from the file. */
static bool is_of_file(uint64_t page)
{
	return !(page & PAGE_SWAPPED) &&
	       (!(page & PAGE_PRESENT) || (page & PAGE_OF_FILE));
}

/* Add the private pages of a mapping. What pagemap does not say is taken as private. */
static bool find_private(const struct other_code *others, int pagemap,
			 const struct mapped_code *code, struct other_runs *runs)
{
	uint64_t pages[1024], at = code->start;
	uint64_t left = (code->end - code->start) / others->page_bytes;

	if (left > PAGES_MAX)
		left = PAGES_MAX;
	while (left) {
		size_t want = left < 1024 ? (size_t)left : 1024;
		ssize_t n = pread(pagemap, pages, want * sizeof(*pages),
				  (off_t)(at / others->page_bytes * sizeof(*pages)));
		size_t got = n > 0 ? (size_t)n / sizeof(*pages) : 0;

		for (size_t i = 0; i < got; i++, at += others->page_bytes)
			if (!is_of_file(pages[i]) &&
			    !add_run(runs, code, at, others->page_bytes))
				return false;
		left -= got;
		if (!got)
			break;
	}
	return at >= code->end || add_run(runs, code, at, code->end - at);
}

/* Has the mapped file the same pages as the one at `path`? */
static bool has_same_pages(const struct mapped_code *code, const char *path)
{
	char name[64];
	_cleanup_(closep) int ours = regular_file_open(path);
	_cleanup_(closep) int place = -1;

	snprintf(name, sizeof(name), "map_files/%" PRIx64 "-%" PRIx64, code->start,
		 code->end);
	place = living_open(code->pid, name, O_PATH | O_CLOEXEC);

	_cleanup_(closep) int theirs = regular_file_reopen(place);

	return ours >= 0 && theirs >= 0 && file_pages_are_same(ours, theirs);
}

static bool is_of(struct found_file *file, const struct mapped_code *code,
		  const char *path)
{
	struct alike found = {.name = code->file};

	if (file_names_have(&file->names, &code->file))
		return true;
	if (code->file.inode != file->names.listed.inode &&
	    code->file.inode != file->names.told.inode)
		return false;
	vec_foreach (known, &file->alike)
		if (file_name_is(&known->name, &code->file))
			return known->is_same;
	found.is_same = has_same_pages(code, path);
	/* Without memory it is opened again for the next mapping. */
	(void)!vec_push(&file->alike, found);
	return found.is_same;
}

/* Add the runs of all processes. The mappings of a process are next to each other. */
static bool find_runs(struct other_code *others, struct found_file *file,
		      const char *path)
{
	uint64_t begin_ns = clock_now_ns();
	_cleanup_(closep) int pagemap = -1;
	size_t first_run = 0, count = 0;
	int pid = 0;

	vec_foreach (code, &others->mappings) {
		if (!is_of(file, code, path))
			continue;
		if (code->pid != pid) {
			closep(&pagemap);
			pid = code->pid;
			pagemap = living_open(pid, "pagemap", O_RDONLY | O_CLOEXEC);
			first_run = file->runs.list.len;
			count = 0;
		}
		if (count++ >= MAPPINGS_OF_FILE_MAX ||
		    file->runs.list.len - first_run > RUNS_OF_ONE_MAX ||
		    clock_now_ns() - begin_ns > SEARCH_NS)
			leave_out(others, pid);
		else if (!find_private(others, pagemap, code, &file->runs))
			return false;
	}
	return true;
}

static struct found_file *known_file(const struct other_code *others,
				     const struct file_names *file)
{
	vec_foreach (known, &others->files)
		if (file_name_is(&(*known)->names.listed, &file->listed) &&
		    file_name_is(&(*known)->names.told, &file->told))
			return *known;
	return NULL;
}

struct error *other_code_find(struct other_code *others, const struct file_names *file,
			      const char *path, const struct other_runs **ret)
{
	struct found_file *found;
	struct error *err = NULL;

	if (others->is_complete && clock_now_ns() > others->end_ns)
		forget(others);
	found = known_file(others, file);
	if (found) {
		*ret = &found->runs;
		return NULL;
	}
	if (!others->is_complete)
		err = read_all(others);
	if (err)
		return err;
	found = calloc(1, sizeof(*found));
	if (!found || !vec_push(&others->files, found)) {
		free(found);
		return error_no_memory();
	}
	found->names = *file;
	*ret = &found->runs;
	return find_runs(others, found, path) ? NULL : error_no_memory();
}

/* --- what was left out, and why --------------------------------------------------- */

void other_code_note_unread(struct other_code *others, int pid)
{
	const struct living living = living_begin(pid);

	if (living_is_there(&living))
		leave_out(others, pid);
}

bool other_code_may_read(struct other_code *others, int pid)
{
	if (others->reads++ < READS_MAX)
		return true;
	leave_out(others, pid);
	return false;
}

uint64_t other_code_unread(const struct other_code *others)
{
	return others->unread > others->unread_max ? others->unread : others->unread_max;
}

const char *other_code_reason(struct other_code *others, int pid)
{
	struct reason *reason;

	vec_foreach (known, &others->reasons)
		if ((*known)->pid == pid)
			return (*known)->text;
	reason = malloc(sizeof(*reason));
	if (!reason || !vec_push(&others->reasons, reason)) {
		free(reason);
		return "its code in the memory of another process differs from the file";
	}
	reason->pid = pid;
	snprintf(reason->text, sizeof(reason->text),
		 "its code in the memory of process %d differs from the file", pid);
	return reason->text;
}
