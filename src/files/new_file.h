/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Write a file atomically: it appears complete, when all data is on disk, or not at all.
 * Until then an existing file of that name stays as it is. "-", which is standard output,
 * and "/dev/null" are written to directly. memtrace runs as root in other users'
 * directories, so the file has mode 0600 and a symbolic link in its place is not
 * followed. docs/formats.md, "How a file is written".
 */
#ifndef FILES_NEW_FILE_H
#define FILES_NEW_FILE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "util/error.h"

/* Identifies a file that this run has written. All 0: none. */
struct file_identity {
	dev_t device;
	ino_t inode;
};

#define NEW_FILE_STDOUT "-"
#define NEW_FILE_NULL   "/dev/null"

/* Another process that has created a file, and gives it its name (output/writer.h). */
struct new_file_maker {
	/* new_file_check() and new_file_give_name(), with what that process knows. */
	struct error *(*check)(void *arg, bool *ret);
	struct error *(*give_name)(void *arg);
	/* Close the file. If it has no name, its data is lost. */
	void (*drop)(void *arg);
	void *arg;
};

struct new_file {
	const struct new_file_maker *maker; /* NULL: this process */
	const char *option;                 /* "csv", for errors; static */
	const char *path;                   /* borrowed */
	const char *base;                   /* last component of `path` */
	int dir_fd, fd;
	bool is_direct; /* standard output or /dev/null: it is written directly and not
			   renamed */
	char temporary[32]; /* "": the file has no name */
	int write_errno;    /* errno of the first write that failed; 0: none */
	FILE *stream;       /* the caller writes here; new_file_flush() and
			       new_file_give_name() report failed writes */
};

/* Begin a file in the directory of `path`, which --`option` names. ERROR_IO if none can
 * be created there. The caller calls new_file_deinit() on `ret`, also after an error. */
struct error *new_file_open(const char *option, const char *path, struct new_file *ret)
	__attribute__((warn_unused_result));

/* Take over the file that `maker`, which is borrowed, has created for `path`, with its
 * descriptor, which is closed on error. The rest is as with new_file_open(). */
struct error *new_file_adopt(const char *option, const char *path, int fd,
			     const struct new_file_maker *maker, struct new_file *ret)
	__attribute__((warn_unused_result));

/* Is a file of this name written to directly? */
bool new_file_is_direct(const char *path);

/*
 * Check whether the file can get its name. ERROR_IO unless the name is free, or belongs
 * to a regular file and either `force` is set or that file is `own`. *ret: a file of that
 * name exists.
 */
struct error *new_file_check(const struct new_file *file, bool force,
			     const struct file_identity *own, bool *ret)
	__attribute__((warn_unused_result));

/* Write the buffered data. ERROR_IO if this write or an earlier one failed. */
struct error *new_file_flush(struct new_file *file) __attribute__((warn_unused_result));

/* Stop writing and cut the file to its first `size_bytes`. Files that are written
 * directly are not cut. */
void new_file_truncate(struct new_file *file, off_t size_bytes);

/* Clear an earlier error, and continue writing after the first `size_bytes`. If this
 * fails, the file can only be closed. */
struct error *new_file_rewind(struct new_file *file, off_t size_bytes)
	__attribute__((warn_unused_result));

/* Write everything to disk and give the file its name, if new_file_check() permits. `own`
 * then identifies this file. */
struct error *new_file_give_name(struct new_file *file, bool force,
				 struct file_identity *own)
	__attribute__((warn_unused_result));

/* Close the file. If it has no name, its data is lost. A file that was never opened
 * must be NEW_FILE_NONE. */
void new_file_deinit(struct new_file *file);

/* Remove the temporary names of all files that this process has open, no matter which
 * code opened them. The process must exit afterwards. May be called from any thread. */
void new_file_remove_temporaries(void);

#define NEW_FILE_NONE                                                                    \
	{                                                                                \
		.dir_fd = -1, .fd = -1                                                   \
	}

#endif
