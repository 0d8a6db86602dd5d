// SPDX-License-Identifier: Apache-2.0
#include "process/target_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/live_thread.h"
#include "process/maps_files.h"
#include "util/cleanup.h"
#include "util/open_helper.h"
#include "util/regular_file.h"
#include "util/vec.h"

struct target_file {
	unsigned owners;
	int place;    /* O_PATH */
	int *reading; /* while it is kept: the file open for reading, or -1; owned */
	char link[32];
	char *name;
	struct elf_reader *reader;
};

/* Takes ownership of `place`, also after an error. */
static struct error *create(struct elf_reader *reader, int place, const char *name,
			    struct target_file **ret)
{
	struct target_file *file = calloc(1, sizeof(*file));

	if (file)
		file->name = strdup(name);
	if (!file || !file->name) {
		free(file);
		close(place);
		return error_no_memory();
	}
	file->owners = 1;
	file->place = place;
	file->reader = reader;
	snprintf(file->link, sizeof(file->link), "/proc/self/fd/%d", place);
	*ret = file;
	return NULL;
}

static bool is_regular(int place)
{
	struct stat st;

	return !open_helper_stat(place, "", &st) && S_ISREG(st.st_mode);
}

/* --- files that are open already --------------------------------------------------- */

static void end_keeping(struct target_file *file)
{
	if (file->reading)
		closep(file->reading);
	free(take(file->reading));
}

/* At most FILES_MAX, each with two descriptors, and 1/16 of the descriptors. */
#define FILES_MAX 64

struct opened_file {
	struct file_name name;
	bool is_deleted;
	/* The process where it was found; 0: any, because stat(2) shows the mapping's
	 * numbers. On other file systems two files may have the same numbers. */
	int pid;
	struct target_file *file;
};

struct opened_files {
	VEC(struct opened_file) list;
	size_t max;
};

struct opened_files *opened_files_create(void)
{
	struct opened_files *files = calloc(1, sizeof(*files));
	struct rlimit limit;

	if (files && !getrlimit(RLIMIT_NOFILE, &limit))
		files->max =
			limit.rlim_cur / 32 < FILES_MAX ? limit.rlim_cur / 32 : FILES_MAX;
	return files;
}

void opened_files_end(struct opened_files *files)
{
	if (!files)
		return;
	vec_foreach (opened, &files->list) {
		end_keeping(opened->file);
		target_file_release(opened->file);
	}
	vec_deinit(&files->list);
}

void opened_files_destroy(struct opened_files *files)
{
	opened_files_end(files);
	free(files);
}

/* An open descriptor keeps the file's inode, so no other file can get its numbers. */
static bool is_of(const struct opened_file *opened, const struct proc *proc,
		  const struct proc_mapping *mapping)
{
	const struct file_name name = file_name_of(mapping);

	return file_name_is(&opened->name, &name) &&
	       (!opened->pid || opened->pid == proc->pid) &&
	       opened->is_deleted == mapping->deleted &&
	       !strcmp(opened->file->name, mapping->path);
}

/* The file of the mapping, shared, or NULL if it is not kept. */
static struct target_file *find_opened(const struct opened_files *files,
				       const struct proc *proc,
				       const struct proc_mapping *mapping)
{
	if (files)
		vec_foreach (opened, &files->list)
			if (is_of(opened, proc, mapping))
				return target_file_share(opened->file);
	return NULL;
}

/* Keep the file of the mapping, if there is room. */
static void keep(struct opened_files *files, const struct proc *proc,
		 const struct proc_mapping *mapping, struct target_file *file)
{
	struct opened_file opened = {.name = file_name_of(mapping),
				     .is_deleted = mapping->deleted};

	if (!files || files->list.len >= files->max)
		return;
	opened.pid = file_names_agree(file->place, &opened.name) ? 0 : proc->pid;
	opened.file = file;
	file->reading = malloc(sizeof(*file->reading));
	if (file->reading && vec_push(&files->list, opened))
		*target_file_share(file)->reading = -1;
	else
		free(take(file->reading));
}

/* --- of a mapping ----------------------------------------------------------------- */

/* Find the mapped file by its path; -1: the path does not lead to it. The kernel reports
 * paths without symbolic links. If `may_open`, a file whose numbers in stat(2) are not
 * the mapping's may be opened for a closer look. */
static int find_by_name(const struct proc *proc, const struct proc_mapping *mapping,
			bool may_open)
{
	const struct file_name name = file_name_of(mapping);
	int place = mapping->deleted
			    ? -1
			    : place_find_plain(proc_root_fd(proc), mapping->path);

	if (place >= 0 &&
	    !(may_open ? maps_is_file(place, mapping) : file_names_agree(place, &name))) {
		close(place);
		place = -1;
	}
	return place;
}

/* Find the mapped file by /proc/PID/map_files. -1 with errno set; ENOENT: another file
 * is mapped there now. */
static int find_by_range(const struct proc *proc, const struct proc_mapping *mapping)
{
	char name[64];
	int place;

	snprintf(name, sizeof(name), "map_files/%" PRIx64 "-%" PRIx64, mapping->start,
		 mapping->end);
	place = live_thread_open(proc->pid, name, O_PATH | O_CLOEXEC);
	if (place >= 0 && !maps_is_file(place, mapping)) {
		close(place);
		errno = ENOENT;
		return -1;
	}
	return place;
}

/* Find the mapped file; -1 with errno set. On overlayfs and FUSE the numbers can differ
 * though the path leads to the file. map_files tells, and the target cannot choose where
 * it leads. Without permission for that, the file at the path is opened for the
 * comparison. */
static int find_mapped(const struct proc *proc, const struct proc_mapping *mapping)
{
	int place = find_by_name(proc, mapping, false), err;

	if (place < 0)
		place = find_by_range(proc, mapping);
	if (place >= 0 || (errno != EPERM && errno != EACCES))
		return place;
	err = errno;
	place = find_by_name(proc, mapping, true);
	errno = err;
	return place;
}

static struct error *explain(const struct proc *proc, const struct proc_mapping *mapping,
			     int err)
{
	if (proc_has_exited(proc))
		return proc_gone(proc);
	if (err == ENOENT)
		return error_create(ERROR_NOT_FOUND,
				    "process %d (%s) no longer maps %s at 0x%" PRIx64,
				    proc->pid, proc->command, mapping->path,
				    mapping->start);
	if (err == EPERM)
		return error_create(
			ERROR_PERMISSION,
			"%s, mapped by process %d (%s), was deleted or replaced "
			"and can be opened through /proc/%d/map_files only: run "
			"as root or with CAP_SYS_ADMIN and CAP_SYS_PTRACE",
			mapping->path, proc->pid, proc->command, proc->pid);
	return proc_access_error(proc, "map_files", err);
}

struct error *target_file_of_mapping(const struct proc *proc,
				     const struct proc_mapping *mapping,
				     struct target_file **ret)
{
	struct opened_files *opened = proc->stand_in ? NULL : proc->opened;
	struct error *err;
	int place;

	*ret = find_opened(opened, proc, mapping);
	if (*ret)
		return NULL;
	if (mapping->path[0] != '/')
		return error_create(ERROR_NOT_FOUND,
				    "process %d (%s) has no file mapped at 0x%" PRIx64,
				    proc->pid, proc->command, mapping->start);
	place = find_mapped(proc, mapping);
	if (place < 0)
		return explain(proc, mapping, errno);
	if (!is_regular(place)) {
		close(place);
		return error_create(
			ERROR_UNSUPPORTED,
			"%s, mapped by process %d (%s), is not a regular file",
			mapping->path, proc->pid, proc->command);
	}
	err = create(proc->elf_reader, place, mapping->path, ret);
	if (!err)
		keep(opened, proc, mapping, *ret);
	return err;
}

/* --- by a name -------------------------------------------------------------------- */

/* `place` is an O_PATH descriptor of the file at `path`; -1: not found, with errno
 * set. */
static struct error *create_found(int place, const char *path, struct elf_reader *reader,
				  struct target_file **ret)
{
	if (place < 0) {
		int err = errno;
		enum error_code code = ERROR_IO;

		if (err == ENOENT || err == ENOTDIR)
			code = ERROR_NOT_FOUND;
		if (err == EACCES || err == EPERM)
			code = ERROR_PERMISSION;
		return error_errno(code, err, "cannot open %s", path);
	}
	if (!is_regular(place)) {
		close(place);
		return error_create(ERROR_UNSUPPORTED, "%s is not a regular file", path);
	}
	return create(reader, place, path, ret);
}

struct error *target_file_named(const struct proc *proc, const char *path,
				struct target_file **ret)
{
	return create_found(proc ? place_find(proc_root_fd(proc), path, 0)
				 : open(path, O_PATH | O_CLOEXEC),
			    path, proc ? proc->elf_reader : NULL, ret);
}

struct error *target_file_below(int root_fd, const char *path, struct elf_reader *reader,
				struct target_file **ret)
{
	return create_found(place_find_plain(root_fd, path), path, reader, ret);
}

/* --- what it is ------------------------------------------------------------------- */

struct target_file *target_file_share(struct target_file *file)
{
	__atomic_add_fetch(&file->owners, 1, __ATOMIC_RELAXED);
	return file;
}

void target_file_release(struct target_file *file)
{
	if (!file || __atomic_sub_fetch(&file->owners, 1, __ATOMIC_ACQ_REL))
		return;
	end_keeping(file);
	close(file->place);
	free(file->name);
	free(file);
}

struct elf_reader *target_file_reader(const struct target_file *file)
{
	return file->reader;
}

void target_file_set_reader(struct target_file *file, struct elf_reader *reader)
{
	file->reader = reader;
}

const char *target_file_name(const struct target_file *file)
{
	return file->name;
}

const char *target_file_link(const struct target_file *file)
{
	return file->link;
}

int target_file_open(const struct target_file *file)
{
	if (!file->reading)
		return regular_file_reopen(file->place);
	if (*file->reading < 0)
		*file->reading = regular_file_reopen(file->place);
	return *file->reading < 0 ? -1 : fcntl(*file->reading, F_DUPFD_CLOEXEC, 0);
}

bool target_file_changed(const struct target_file *file, int64_t *ret_ns)
{
	struct stat st;

	if (open_helper_stat(file->place, "", &st))
		return false;
	*ret_ns = st.st_ctim.tv_sec * INT64_C(1000000000) + st.st_ctim.tv_nsec;
	return true;
}

bool target_file_names(const struct target_file *file, struct file_names *ret)
{
	_cleanup_(closep) int fd = target_file_open(file);

	return fd >= 0 && file_names_ask(fd, NULL, ret);
}

bool target_file_is(const struct target_file *file, const struct file_name *name,
		    struct file_names *ret)
{
	return file_names_check(file->place, name, ret);
}
