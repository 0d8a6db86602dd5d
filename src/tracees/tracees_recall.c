// SPDX-License-Identifier: Apache-2.0
/* Names the code of processes that exited before memtrace read their mappings, from the
 * mappings that the kernel reported. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tracees/watched_files.h"
#include "tracees/tracees_private.h"
#include "process/stand_in.h"
#include "util/cleanup.h"
#include "util/text_hash.h"

/* At most this many root directories besides memtrace's own are searched. */
#define ROOTS_MAX 4

/* Limits for one report, because the target decides how many programs it runs and what
 * they map. A stand-in for an exited process keeps its files open in the reader
 * process. */
#define MAPPINGS_MAX  65536
#define STAND_INS_MAX 64

/* State for one report. */
struct recall {
	struct tracees *ts;
	const struct families *families;
	/* The files below memtrace's root directory, then those below other root
	 * directories of running processes. */
	struct watched_files below[1 + ROOTS_MAX];
	size_t count;
	struct hashmap named;       /* hashes of the build-ids of files that have names */
	size_t mappings, stand_ins; /* how many more are allowed */
};

/* Takes ownership of `fd`. */
static struct error *add_root(struct recall *r, int fd)
{
	if (fd < 0)
		return error_errno(
			ERROR_IO, errno,
			"cannot keep the root directory of an exited process open");
	watched_files_init(&r->below[r->count++], fd, r->ts->elf_reader);
	return NULL;
}

static bool is_known_root(const struct recall *r, int fd)
{
	struct stat here, there;

	for (size_t i = 1; i < r->count; i++)
		if (!fstat(fd, &here) && !fstat(r->below[i].root_fd, &there) &&
		    here.st_dev == there.st_dev && here.st_ino == there.st_ino)
			return true;
	return false;
}

static struct error *find_roots(struct recall *r)
{
	struct error *err = add_root(r, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
	int fd;

	vec_foreach (t, &r->ts->list) {
		if (err || r->count > ROOTS_MAX)
			break;
		if ((*t)->exited || !(*t)->proc || (*t)->has_our_root)
			continue;
		fd = proc_root_fd((*t)->proc);
		if (fd >= 0 && !is_known_root(r, fd))
			err = add_root(r, fcntl(fd, F_DUPFD_CLOEXEC, 0));
		proc_rest((*t)->proc);
	}
	return err;
}

static void recall_deinit(struct recall *r)
{
	while (r->count--) {
		close(r->below[r->count].root_fd);
		watched_files_deinit(&r->below[r->count]);
	}
	hashmap_deinit(&r->named);
}

static struct error *note_named(struct recall *r, const struct modules *modules)
{
	vec_foreach (file, &modules->files)
		if (file->build_id &&
		    !hashmap_put(&r->named, text_hash(file->build_id), 1))
			return error_no_memory();
	return NULL;
}

/* Can other processes already name all code of these files? */
static bool is_named(const struct recall *r, const struct modules *modules)
{
	vec_foreach (file, &modules->files)
		if (!file->build_id ||
		    !hashmap_get(&r->named, text_hash(file->build_id), NULL))
			return false;
	return true;
}

/* The root directory below which the program of the process is found; NULL: none. */
static struct watched_files *choose_root(struct recall *r,
					 const struct watched_code *code)
{
	const struct watched_mapping *program = &code->mappings.data[0];

	for (size_t i = code->has_our_root ? 0 : 1; i < r->count; i++)
		if (watched_files_get(&r->below[i], program))
			return &r->below[i];
	return NULL;
}

/* The mapping as /proc/PID/maps would show it. The path is borrowed. */
static struct proc_mapping to_mapping(const struct watched_mapping *m,
				      const struct watched_file *file)
{
	const struct file_name *name = file ? &file->listed : &m->name;

	return (struct proc_mapping){
		.start = m->start,
		.end = m->end,
		.file_offset = m->file_offset,
		.inode = name->inode,
		.dev_major = name->dev_major,
		.dev_minor = name->dev_minor,
		.readable = true,
		.executable = true,
		.path = m->path,
	};
}

/* Add the reported mappings to the modules. `ret` gets those whose file was found, and
 * borrows the paths. *ret_added counts the added ones among them. */
static struct error *recall_code(struct tracee *t,
				 const struct watched_mappings *reported,
				 struct watched_files *files, struct proc_maps *ret,
				 size_t *ret_added)
{
	struct error *err = NULL;

	vec_foreach (each, &reported->list) {
		const struct watched_mapping *m = *each;
		const struct watched_file *file =
			files ? watched_files_get(files, m) : NULL;
		const struct proc_mapping mapping = to_mapping(m, file);
		bool is_added = false;

		if (file && !vec_push(&ret->mappings, mapping))
			err = error_no_memory();
		if (!err)
			err = modules_add(&t->modules, &mapping,
					  file ? file->build_id : NULL, &is_added);
		if (err)
			break;
		*ret_added += is_added && file;
	}
	return err;
}

/* Create a stand-in for the process, and let it name the code. */
static struct error *open_names(struct recall *r, struct tracee *t,
				const struct proc_maps *maps, int root_fd)
{
	const struct proc_mapping *program = &maps->mappings.data[0];
	struct stand_in *stand_in;
	struct proc *proc;
	struct error *err;

	vec_foreach (m, &maps->mappings)
		if (!strcmp(m->path, t->reported_code->mappings.data[0].path))
			program = m;
	err = stand_in_create(maps, program, root_fd, &stand_in);
	if (!err)
		err = proc_adopt_stand_in(t->pid, t->command, stand_in, &proc);
	if (err)
		return err;
	proc->executable = strdup(program->path);
	proc->elf_reader = r->ts->elf_reader;
	tracee_replace(t, proc);
	return tracee_try_symbols(t, r->ts->options, r->ts->reading.reader);
}

static struct error *recall(struct recall *r, struct tracee *t)
{
	struct watched_files *files = choose_root(r, t->reported_code);
	struct watched_mappings reported;
	struct proc_maps maps = {0};
	size_t added = 0;
	struct error *err = NULL;

	if (!watched_code_list(t->reported_code, &reported))
		return error_no_memory();
	err = recall_code(t, &reported, files, &maps, &added);
	if (!err && maps.mappings.len && r->stand_ins &&
	    (added || !t->frames || t->may_lack_names) && !is_named(r, &t->modules)) {
		r->stand_ins--;
		err = open_names(r, t, &maps, files->root_fd);
		if (!err && t->frames)
			err = note_named(r, &t->modules);
	}
	vec_deinit(&maps.mappings);
	watched_mappings_deinit(&reported);
	return err;
}

/* Processes that name no frames are not needed. */
static bool is_wanted(const struct recall *r, const struct tracee *t, size_t i)
{
	size_t count = t->reported_code->mappings.len;

	return count && count <= r->mappings && tracees_may_name(r->families, t, i);
}

static bool has_reported_code(const struct tracees *ts)
{
	vec_foreach (t, &ts->list)
		if ((*t)->reported_code)
			return true;
	return false;
}

struct error *tracees_recall(struct tracees *ts, const struct families *families)
{
	_cleanup_(recall_deinit) struct recall r = {
		.ts = ts,
		.families = families,
		.mappings = MAPPINGS_MAX,
		.stand_ins = STAND_INS_MAX,
	};
	struct error *err;

	if (!has_reported_code(ts))
		return NULL;
	hashmap_init(&r.named, hashmap_seed());
	err = find_roots(&r);
	vec_foreach (t, &ts->list)
		if (!err && (*t)->frames && !(*t)->may_lack_names)
			err = note_named(&r, &(*t)->modules);
	for (size_t i = 0; i < ts->list.len && !err; i++) {
		struct tracee *t = ts->list.data[i];

		if (!t->reported_code)
			continue;
		if (is_wanted(&r, t, i)) {
			r.mappings -= t->reported_code->mappings.len;
			err = recall(&r, t);
		}
		watched_code_release(t->reported_code);
		t->reported_code = NULL;
	}
	/* Errors only mean that frames stay without names. */
	return error_only_no_memory(err);
}
