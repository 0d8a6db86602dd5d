/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that have probes, each with one number for all the names that it has. They
 * are held open, so that their inode numbers stay theirs. No number is used twice.
 */
#ifndef BPF_FILE_NUMBERS_H
#define BPF_FILE_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/error.h"
#include "util/vec.h"

struct numbered_file {
	dev_t device; /* as stat(2) says */
	ino_t inode;
	off_t size_bytes;
	int fd;
	uint64_t number; /* from 1 on; of names of the same file the same */
};

struct file_numbers {
	VEC(struct numbered_file) list;
	uint64_t used; /* numbers so far */
};

/* The file at a path; the descriptor stays ours. Number 0 and descriptor -1 when it is
 * not there or cannot be opened. ERROR_NO_MEMORY. */
struct error *file_numbers_find(struct file_numbers *files, const char *path,
				struct numbered_file *ret)
	__attribute__((warn_unused_result));

/* Its number alone. */
struct error *file_numbers_get(struct file_numbers *files, const char *path,
			       uint64_t *ret) __attribute__((warn_unused_result));

/* The number of the file at a path if it has one, else 0. No number is given. */
uint64_t file_numbers_known(const struct file_numbers *files, const char *path);

/* Close the file with this number, under all its names. */
void file_numbers_drop(struct file_numbers *files, uint64_t number);

void file_numbers_deinit(struct file_numbers *files);

#endif
