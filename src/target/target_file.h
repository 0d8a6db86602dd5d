/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that code comes from: one that a process has mapped, or one that the user has
 * named. Its path is followed once. From then on the file is read, compared and probed by
 * its descriptor, so that whoever writes to the directories cannot put another file in
 * its place.
 */
#ifndef TARGET_TARGET_FILE_H
#define TARGET_TARGET_FILE_H

#include "target/file_names.h"
#include "target/proc.h"
#include "util/error.h"

struct elf_reader;
struct target_file;

/*
 * The file behind a mapping: what its path leads to below the root directory of the
 * process, if that is the same file (target/file_names.h), else by
 * /proc/PID/map_files/RANGE (files that were deleted or replaced). ERROR_NOT_FOUND: the
 * mapping has no file, or is not there any more; ERROR_GONE: the process has exited;
 * ERROR_PERMISSION; ERROR_UNSUPPORTED: it is not a regular file. Released by the caller;
 * it outlasts the process.
 */
struct error *target_file_of_mapping(const struct proc *proc,
				     const struct proc_mapping *mapping,
				     struct target_file **ret)
	__attribute__((warn_unused_result));

/* A file by a path that the user has named, below the root directory of `proc`, or below
 * ours (NULL). The errors are those of open(2), and ERROR_UNSUPPORTED as above. */
struct error *target_file_named(const struct proc *proc, const char *path,
				struct target_file **ret)
	__attribute__((warn_unused_result));

/* The file at `path` below the directory `root_fd`. Whether a process maps it is not
 * looked at. `reader` reads its tables (NULL: whoever asks). Errors are those of
 * target_file_named(). */
struct error *target_file_below(int root_fd, const char *path, struct elf_reader *reader,
				struct target_file **ret)
	__attribute__((warn_unused_result));

/* One more owner: returns the file itself. */
struct target_file *target_file_share(struct target_file *file);
void target_file_release(struct target_file *file);

/* Who reads the tables of it, if it is an ELF file (target/elf_reader.h): of a mapping
 * that of the process; NULL: whoever asks. Borrowed. */
struct elf_reader *target_file_reader(const struct target_file *file);
void target_file_set_reader(struct target_file *file, struct elf_reader *reader);

/* The path as the target or the user names it, for people only. Borrowed. */
const char *target_file_name(const struct target_file *file);

/* A path that always leads to this file, /proc/self/fd/N: for libraries and system calls
 * that take nothing else. Borrowed; good for as long as the file is held. */
const char *target_file_link(const struct target_file *file);

/* The file opened for reading, or -1 with errno set. The descriptor is the caller's. */
int target_file_open(const struct target_file *file);

/* When its inode was last changed (st_ctim of stat(2)), in ns of CLOCK_REALTIME; false:
 * that cannot be had. */
bool target_file_changed(const struct target_file *file, int64_t *ret_ns);

/* The numbers by which the kernel names mappings of it. False: they cannot be had. */
bool target_file_names(const struct target_file *file, struct file_names *ret);

#endif
