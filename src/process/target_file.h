/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file with code, mapped by a process or named by the user. Its path is resolved
 * once. From then on the file is read, compared and probed through its descriptor. So
 * another process with write access to its directories cannot replace it.
 */
#ifndef PROCESS_TARGET_FILE_H
#define PROCESS_TARGET_FILE_H

#include "process/file_names.h"
#include "process/proc.h"
#include "util/error.h"

struct elf_reader;
struct target_file; /* may outlive the process; released by target_file_release() */

/*
 * Open the file of a mapping: the file at its path below the root directory of the
 * process, if that is the mapped file (process/file_names.h), else
 * /proc/PID/map_files/RANGE (for deleted and replaced files). ERROR_NOT_FOUND: the
 * mapping has no file, or does not exist any more; ERROR_GONE: the process has exited;
 * ERROR_PERMISSION; ERROR_UNSUPPORTED: not a regular file.
 */
struct error *target_file_of_mapping(const struct proc *proc,
				     const struct proc_mapping *mapping,
				     struct target_file **ret)
	__attribute__((warn_unused_result));

/*
 * Keeps the mapped files that are opened during one round of work, such as the start of a
 * run, if `proc->opened` is set: build-ids, the plan, the probes and other processes need
 * the same files. target_file_of_mapping() then finds and checks a file once, and
 * target_file_open() opens it once. Used by one thread.
 */
struct opened_files;

/* NULL: out of memory, and nothing is kept. */
struct opened_files *opened_files_create(void);
void opened_files_destroy(struct opened_files *files);

/* The round ends: close the files, unless they have other owners. `files` may be NULL. */
void opened_files_end(struct opened_files *files);

/* Open a file named by the user, below the root directory of `proc`, or below ours
 * (NULL). Errors are as for open(2), and ERROR_UNSUPPORTED: not a regular file. */
struct error *target_file_named(const struct proc *proc, const char *path,
				struct target_file **ret)
	__attribute__((warn_unused_result));

/* Find the file at `path`, as the kernel reported it, below the directory `root_fd`,
 * whether or not a process maps it. No symbolic link is followed. `reader` reads its
 * tables (NULL: the calling process). Errors as for target_file_named(). */
struct error *target_file_below(int root_fd, const char *path, struct elf_reader *reader,
				struct target_file **ret)
	__attribute__((warn_unused_result));

/* Add an owner. Returns the file itself. */
struct target_file *target_file_share(struct target_file *file);
void target_file_release(struct target_file *file);

/* The reader of the file's tables, if it is an ELF file (elf/elf_reader.h). For a
 * mapped file, the reader of the process. NULL: the calling process. Borrowed. */
struct elf_reader *target_file_reader(const struct target_file *file);
void target_file_set_reader(struct target_file *file, struct elf_reader *reader);

/* The path as given by the target or the user, for messages only. Borrowed. */
const char *target_file_name(const struct target_file *file);

/* A path that always leads to this file, /proc/self/fd/N, for libraries and system
 * calls that need a path. Borrowed; valid until the file is released. */
const char *target_file_link(const struct target_file *file);

/* Open the file for reading. Returns a descriptor owned by the caller, or -1 with errno
 * set. The caller gives each read its offset (pread(2)): the descriptor may share its
 * position with others. */
int target_file_open(const struct target_file *file);

/* The time of the inode's last change (st_ctim of stat(2)), in ns, CLOCK_REALTIME.
 * False: unknown. */
bool target_file_changed(const struct target_file *file, int64_t *ret_ns);

/* The device and inode numbers with which the kernel names its mappings. False:
 * unknown. */
bool target_file_names(const struct target_file *file, struct file_names *ret);

/* Is it the file with this name? *ret: its names, valid if true. The file is opened only
 * if stat(2) cannot answer (file_names_check()). */
bool target_file_is(const struct target_file *file, const struct file_name *name,
		    struct file_names *ret);

#endif
