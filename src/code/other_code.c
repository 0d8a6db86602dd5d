// SPDX-License-Identifier: Apache-2.0
#include "code/other_code.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "code/other_maps.h"
#include "util/file_pages.h"
#include "process/live_thread.h"
#include "process/maps.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/regular_file.h"
#include "util/units.h"

/* Bounds on the work until the mappings are read again. Code that is not read because of
 * them is an unread run (other_runs.h). The time also bounds the memory, as it bounds the
 * number of processes that are read. */
#define SEARCH_NS (10 * UNITS_NS_PER_S)
#define PAGES_MAX 16384u   /* of a mapping; what is beyond is compared whole */
#define READS_MAX 1000000u /* of memory: some 2 s */

/* The list holds no more mappings, of one process and of all. Further processes are read
 * again for each file. */
#define MAPPINGS_OF_ONE_MAX 4096u
#define MAPPINGS_MAX        (1u << 20)

/* A process that maps the same code more often, or has changed more parts of it, is
 * unread from there on. */
#define MAPPINGS_OF_FILE_MAX 256u
#define RUNS_OF_ONE_MAX      1024u

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
	uint64_t begin_ns; /* of the search for them, CLOCK_MONOTONIC */
};

struct reason {
	char text[200];
};

struct other_code {
	VEC(struct mapped_code) mappings;
	VEC(int) pids;                  /* whose mappings were read, ascending */
	VEC(int) unlisted;              /* whose mappings are read for each file */
	VEC(int) unread_pids;           /* whose mappings could not be read */
	VEC(struct found_file *) files; /* found since the mappings were read */
	VEC(struct reason *) reasons;
	uint64_t end_ns;    /* the results are valid until then, CLOCK_MONOTONIC */
	uint64_t rested_ns; /* mappings may be read again from then on, CLOCK_MONOTONIC */
	uint64_t read_ns;   /* mappings were last read then, CLOCK_MONOTONIC */
	uint64_t spent_ns;  /* on searches since the mappings were read */
	bool is_complete;   /* the mappings of all processes were read */
	uint64_t unread;    /* processes left out since the mappings were read */
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

static void count_unread(struct other_code *others, int pid)
{
	others->unread += pid != others->last_unread;
	others->last_unread = pid;
}

/* The mappings of this process are not known. False: memory is out. */
static bool leave_out(struct other_code *others, int pid)
{
	count_unread(others, pid);
	return vec_push(&others->unread_pids, pid);
}

/* Has the time passed, for work that began at `begin_ns`? */
static bool is_late(const struct other_code *others, uint64_t begin_ns)
{
	return others->spent_ns + (clock_now_ns() - begin_ns) > SEARCH_NS;
}

static void drop_results(struct other_code *others)
{
	others->unread_max = other_code_unread(others);
	others->unread = others->reads = 0;
	others->last_unread = 0;
	others->spent_ns = 0;
	vec_foreach (file, &others->files) {
		vec_deinit(&(*file)->runs.list);
		vec_deinit(&(*file)->alike);
		free(*file);
	}
	others->files.len = others->mappings.len = others->pids.len = 0;
	others->unlisted.len = others->unread_pids.len = 0;
	others->is_complete = false;
}

void other_code_destroy(struct other_code *others)
{
	if (!others)
		return;
	drop_results(others);
	vec_foreach (reason, &others->reasons)
		free(*reason);
	vec_deinit(&others->files);
	vec_deinit(&others->mappings);
	vec_deinit(&others->pids);
	vec_deinit(&others->unlisted);
	vec_deinit(&others->unread_pids);
	vec_deinit(&others->reasons);
	free(others);
}

/* --- mappings of all processes ---------------------------------------------------- */

static bool is_code(const struct proc_mapping *m)
{
	return m->executable && m->inode;
}

static struct mapped_code code_of(int pid, const struct proc_mapping *m)
{
	return (struct mapped_code){pid, file_name_of(m), m->start, m->end,
				    m->file_offset};
}

static bool add_mappings(struct other_code *others, int pid, const struct proc_maps *maps)
{
	size_t count = 0;

	vec_foreach (m, &maps->mappings)
		count += is_code(m);
	if (count > MAPPINGS_OF_ONE_MAX || count > MAPPINGS_MAX - others->mappings.len)
		return vec_push(&others->unlisted, pid);
	vec_foreach (m, &maps->mappings)
		if (is_code(m) && !vec_push(&others->mappings, code_of(pid, m)))
			return false;
	return true;
}

struct error *other_code_add(struct other_code *others, int pid,
			     const struct proc_maps *maps)
{
	return add_mappings(others, pid, maps) && vec_push(&others->pids, pid)
		       ? NULL
		       : error_no_memory();
}

static int compare_pids(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

static struct error *read_process(struct other_code *others, int pid)
{
	_cleanup_(proc_maps_deinit) struct proc_maps maps = {0};
	enum other_maps outcome = other_maps_read(pid, &maps);

	if (outcome == OTHER_MAPS_READ)
		return other_code_add(others, pid, &maps);
	if (outcome == OTHER_MAPS_NO_MEMORY ||
	    (outcome == OTHER_MAPS_UNREAD && !leave_out(others, pid)))
		return error_no_memory();
	return NULL;
}

/* Read the mappings of all processes that were not added before. */
static struct error *read_unknown(struct other_code *others)
{
	_cleanup_(closedirp) DIR *dir = opendir("/proc");
	uint64_t begin_ns = clock_now_ns();
	size_t known = others->pids.len;
	struct error *err = NULL;

	if (!dir)
		return error_errno(ERROR_IO, errno, "cannot list /proc");
	if (known)
		qsort(others->pids.data, known, sizeof(int), compare_pids);
	for (int pid; !err && (pid = proc_next(dir));) {
		if (known &&
		    bsearch(&pid, others->pids.data, known, sizeof(pid), compare_pids))
			continue;
		if (!is_late(others, begin_ns))
			err = read_process(others, pid);
		else if (!leave_out(others, pid))
			err = error_no_memory();
	}
	others->read_ns = clock_now_ns();
	others->spent_ns += others->read_ns - begin_ns;
	return err;
}

static struct error *read_all(struct other_code *others)
{
	uint64_t begin_ns = clock_now_ns();
	struct error *err = read_unknown(others);
	uint64_t rest_ns;

	rest_ns = (others->read_ns - begin_ns) * SHARE;
	others->end_ns = others->read_ns + (rest_ns > SETTLED_NS ? rest_ns : SETTLED_NS);
	others->rested_ns = others->read_ns + rest_ns;
	others->is_complete = !err;
	return err;
}

/* --- pages of one file ------------------------------------------------------------ */

static struct other_run run_of(const struct mapped_code *code, uint64_t address,
			       uint64_t size)
{
	return (struct other_run){
		.pid = code->pid,
		.file = code->file,
		.address = address,
		.file_offset = code->file_offset + (address - code->start),
		.size = size,
	};
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
			    !other_runs_add(runs, run_of(code, at, others->page_bytes)))
				return false;
		left -= got;
		if (!got)
			break;
	}
	return at >= code->end || other_runs_add(runs, run_of(code, at, code->end - at));
}

/* Has the mapped file the same pages as the one at `path`? False, and *ret_opened too:
 * they cannot be opened, perhaps because the process has exited. */
static bool has_same_pages(const struct mapped_code *code, const char *path,
			   bool *ret_opened)
{
	char name[64];
	_cleanup_(closep) int ours = regular_file_open(path);
	_cleanup_(closep) int place = -1;

	snprintf(name, sizeof(name), "map_files/%" PRIx64 "-%" PRIx64, code->start,
		 code->end);
	place = live_thread_open(code->pid, name, O_PATH | O_CLOEXEC);

	_cleanup_(closep) int theirs = regular_file_reopen(place);

	*ret_opened = ours >= 0 && theirs >= 0;
	return *ret_opened && file_pages_are_same(ours, theirs);
}

static bool is_of(struct found_file *file, const struct mapped_code *code,
		  const char *path)
{
	struct alike found = {.name = code->file};
	bool is_opened;

	if (file_names_have(&file->names, &code->file))
		return true;
	if (code->file.inode != file->names.listed.inode &&
	    code->file.inode != file->names.reported.inode)
		return false;
	vec_foreach (known, &file->alike)
		if (file_name_is(&known->name, &code->file))
			return known->is_same;
	found.is_same = has_same_pages(code, path, &is_opened);
	/* What is not kept is opened again for the next mapping. */
	if (is_opened)
		(void)!vec_push(&file->alike, found);
	return found.is_same;
}

/* A search for the runs of one file. */
struct search {
	struct other_code *others;
	struct found_file *file;
	const char *path;
	uint64_t begin_ns;
	/* The process that was found last, its first run, and its number of mappings. */
	int pid, pagemap;
	size_t first_run, count;
};

/* Add the runs of a mapping. The mappings of a process come one after another. */
static bool find_in(struct search *s, const struct mapped_code *code)
{
	struct other_runs *runs = &s->file->runs;

	if (!is_of(s->file, code, s->path))
		return true;
	if (code->pid != s->pid) {
		closep(&s->pagemap);
		s->pid = code->pid;
		s->pagemap = live_thread_open(s->pid, "pagemap", O_RDONLY | O_CLOEXEC);
		s->first_run = runs->list.len;
		s->count = 0;
	}
	if (s->count++ < MAPPINGS_OF_FILE_MAX &&
	    runs->list.len - s->first_run <= RUNS_OF_ONE_MAX &&
	    !is_late(s->others, s->begin_ns))
		return find_private(s->others, s->pagemap, code, runs);
	count_unread(s->others, s->pid);
	return other_runs_add_unread(runs, s->pid, code->file_offset,
				     code->end - code->start);
}

/* The same for all mappings of a process that are not listed. */
static bool find_unlisted(struct search *s, int pid)
{
	_cleanup_(proc_maps_deinit) struct proc_maps maps = {0};
	enum other_maps outcome = is_late(s->others, s->begin_ns)
					  ? OTHER_MAPS_UNREAD
					  : other_maps_read(pid, &maps);

	if (outcome == OTHER_MAPS_UNREAD) {
		count_unread(s->others, pid);
		return other_runs_add_unread(&s->file->runs, pid, 0, UINT64_MAX);
	}
	if (outcome == OTHER_MAPS_READ)
		vec_foreach (m, &maps.mappings) {
			const struct mapped_code code = code_of(pid, m);

			if (is_code(m) && !find_in(s, &code))
				return false;
		}
	return outcome != OTHER_MAPS_NO_MEMORY;
}

static bool find_all(struct search *s)
{
	vec_foreach (code, &s->others->mappings)
		if (!find_in(s, code))
			return false;
	vec_foreach (pid, &s->others->unlisted)
		if (!find_unlisted(s, *pid))
			return false;
	vec_foreach (pid, &s->others->unread_pids)
		if (!other_runs_add_unread(&s->file->runs, *pid, 0, UINT64_MAX))
			return false;
	return true;
}

/* Add the runs of all processes. */
static bool find_runs(struct other_code *others, struct found_file *file,
		      const char *path)
{
	struct search s = {.others = others,
			   .file = file,
			   .path = path,
			   .begin_ns = clock_now_ns(),
			   .pagemap = -1};
	bool ok;

	file->begin_ns = s.begin_ns;
	ok = find_all(&s);
	closep(&s.pagemap);
	others->spent_ns += clock_now_ns() - s.begin_ns;
	return ok;
}

static struct found_file *known_file(const struct other_code *others,
				     const struct file_names *file)
{
	vec_foreach (known, &others->files)
		if (file_name_is(&(*known)->names.listed, &file->listed) &&
		    file_name_is(&(*known)->names.reported, &file->reported))
			return *known;
	return NULL;
}

struct error *other_code_find(struct other_code *others, const struct file_names *file,
			      const char *path, const struct other_runs **ret)
{
	struct found_file *found;
	struct error *err = NULL;

	if (others->is_complete && clock_now_ns() > others->end_ns)
		drop_results(others);
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
	if (find_runs(others, found, path))
		return NULL;
	/* What was found is not all. */
	drop_results(others);
	return error_no_memory();
}

/* Add the processes that have started since the mappings were read. If that was long ago,
 * read all again, as others may have executed a program or loaded a library. Then no file
 * is known. */
static struct error *bring_up_to_date(struct other_code *others, uint64_t since_ns)
{
	if (!others->is_complete || others->read_ns >= since_ns)
		return NULL;
	if (clock_now_ns() < others->rested_ns)
		return read_unknown(others);
	drop_results(others);
	return NULL;
}

struct error *other_code_find_anew(struct other_code *others,
				   const struct file_names *file, const char *path,
				   uint64_t since_ns, const struct other_runs **ret)
{
	struct found_file *found;
	struct error *err = bring_up_to_date(others, since_ns);

	if (err)
		return err;
	found = known_file(others, file);
	if (!found || found->begin_ns >= since_ns)
		return other_code_find(others, file, path, ret);
	found->runs.list.len = 0;
	*ret = &found->runs;
	if (find_runs(others, found, path))
		return NULL;
	/* What was found is not all. */
	drop_results(others);
	return error_no_memory();
}

/* --- what was left out, and why --------------------------------------------------- */

/* Has the mapping a part of the run, where the run had it? */
static bool has_part(const struct proc_mapping *m, const struct other_run *run)
{
	const struct file_name name = file_name_of(m);

	return m->start < run->address + run->size && run->address < m->end &&
	       m->start - m->file_offset == run->address - run->file_offset &&
	       file_name_is(&name, &run->file);
}

static bool is_mapped(const struct other_run *run)
{
	_cleanup_(proc_maps_deinit) struct proc_maps maps = {0};
	enum other_maps outcome = other_maps_read(run->pid, &maps);

	if (outcome != OTHER_MAPS_READ)
		return outcome != OTHER_MAPS_NONE;
	vec_foreach (m, &maps.mappings)
		if (has_part(m, run))
			return true;
	return false;
}

bool other_code_is_mapped(struct other_code *others, const struct other_run *run)
{
	uint64_t begin_ns = clock_now_ns();
	bool is_there = is_late(others, begin_ns) || is_mapped(run);

	others->spent_ns += clock_now_ns() - begin_ns;
	return is_there;
}

bool other_code_is_unread(struct other_code *others, const struct other_run *run)
{
	const struct live_thread live = live_thread_begin(run->pid);

	if (!live_thread_is_there(&live))
		return false;
	/* It was counted when it was left out. */
	if (run->is_unread)
		return true;
	if (!other_code_is_mapped(others, run))
		return false;
	count_unread(others, run->pid);
	return true;
}

bool other_code_may_read(struct other_code *others, int pid)
{
	if (others->reads++ < READS_MAX)
		return true;
	count_unread(others, pid);
	return false;
}

uint64_t other_code_unread(const struct other_code *others)
{
	return others->unread > others->unread_max ? others->unread : others->unread_max;
}

/* This text, which lives as long as `others`. */
static const char *keep(struct other_code *others, const struct reason *text)
{
	struct reason *reason;

	vec_foreach (known, &others->reasons)
		if (!strcmp((*known)->text, text->text))
			return (*known)->text;
	reason = malloc(sizeof(*reason));
	if (!reason || !vec_push(&others->reasons, reason)) {
		free(reason);
		return "its code in the memory of another process differs from the file";
	}
	*reason = *text;
	return reason->text;
}

const char *other_code_reason(struct other_code *others, int pid)
{
	struct reason reason;

	snprintf(reason.text, sizeof(reason.text),
		 "its code in the memory of process %d differs from the file", pid);
	return keep(others, &reason);
}

const char *other_code_unread_reason(struct other_code *others, int pid)
{
	uint64_t more = others->unread ? others->unread - 1 : 0;
	struct reason reason;
	char rest[64] = "";

	if (more)
		snprintf(rest, sizeof(rest), " and of up to %" PRIu64 " more", more);
	snprintf(reason.text, sizeof(reason.text),
		 "its code in the memory of process %d%s cannot be compared with the "
		 "file: trace single processes with -p PID",
		 pid, rest);
	return keep(others, &reason);
}
