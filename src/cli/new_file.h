/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that is there whole or not at all. It is written without a name (O_TMPFILE, or,
 * where the file system has none, under a temporary name in the same directory), and gets
 * its name when all is on disk. Until then a file of that name stays as it is, and when
 * writing fails, or memtrace is killed, nothing of the new one is left behind. memtrace
 * is root in directories of others: its file is mode 0600, and no symbolic link in
 * place of the file is followed.
 *
 * Two names are of what is there already, and is written to at once: "-", which is
 * standard output, and "/dev/null".
 */
#ifndef CLI_NEW_FILE_H
#define CLI_NEW_FILE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "util/error.h"

/* Which file it was, to know it again. All 0: none. */
struct file_identity {
	dev_t device;
	ino_t inode;
};

#define NEW_FILE_STDOUT "-"
#define NEW_FILE_NULL   "/dev/null"

struct new_file {
	const char *option; /* "--csv", for errors; static */
	const char *path;   /* borrowed */
	const char *base;   /* its last part */
	int dir_fd, fd;
	bool is_direct; /* standard output or /dev/null: it has its name, and keeps what
			   is written */
	char temporary[32]; /* "": it has no name */
	int write_errno;    /* of the first write that failed */
	FILE *stream;       /* to write to; a failed write shows in publish */
};

/* Begin a file in the directory of `path`. ERROR_IO when none can be made there. `ret` is
 * the caller's to deinit, also after an error. */
struct error *new_file_open(const char *option, const char *path, struct new_file *ret)
	__attribute__((warn_unused_result));

/*
 * ERROR_IO unless the name can be given: it is free, or is that of a regular file and
 * `force` is given or it is `own`. *ret says whether a file is in place.
 */
struct error *new_file_check(const struct new_file *file, bool force,
			     const struct file_identity *own, bool *ret)
	__attribute__((warn_unused_result));

/* Write what is buffered; ERROR_IO when that, or a write before it, failed. */
struct error *new_file_flush(struct new_file *file) __attribute__((warn_unused_result));

/* End writing, and leave no more than the first `size_bytes`, but of what is written to
 * at once. */
void new_file_truncate(struct new_file *file, off_t size_bytes);

/* Forget an error, and go on writing behind the first `size_bytes`. After an error the
 * file can only be closed. */
struct error *new_file_rewind(struct new_file *file, off_t size_bytes)
	__attribute__((warn_unused_result));

/* Bring all to disk and give the file its name, if new_file_check() allows. `own` is
 * then this file. */
struct error *new_file_publish(struct new_file *file, bool force,
			       struct file_identity *own)
	__attribute__((warn_unused_result));

/* Close it; without publish it is gone. A file that was never opened has to be
 * NEW_FILE_NONE. */
void new_file_deinit(struct new_file *file);

/* Remove the temporary name of every file that this process writes, whoever opened it.
 * The process must end now. For any thread. */
void new_file_remove_temporaries(void);

#define NEW_FILE_NONE                                                                    \
	{                                                                                \
		.dir_fd = -1, .fd = -1                                                   \
	}

#endif
