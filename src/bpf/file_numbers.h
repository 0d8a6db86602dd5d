/* SPDX-License-Identifier: Apache-2.0 */
/* Gives each file with probes a number, the same one for all its names. The files are
 * held open, so that their inode numbers are not reused. No number is used twice. */
#ifndef BPF_FILE_NUMBERS_H
#define BPF_FILE_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/error.h"
#include "util/vec.h"

struct numbered_file {
	dev_t device; /* as reported by stat(2) */
	ino_t inode;
	off_t size_bytes;
	int fd;
	uint64_t number; /* from 1 on; the same for all names of a file */
};

struct file_numbers {
	VEC(struct numbered_file) list;
	uint64_t used; /* count of numbers given so far */
};

/* Find the file at a path and give it a number if it has none. This table owns the
 * descriptor. If the file does not exist or cannot be opened, ret->number is 0 and
 * ret->fd is -1. Returns ERROR_NO_MEMORY on failure. */
struct error *file_numbers_find(struct file_numbers *files, const char *path,
				struct numbered_file *ret)
	__attribute__((warn_unused_result));

/* As file_numbers_find(), but return only the number. */
struct error *file_numbers_get(struct file_numbers *files, const char *path,
			       uint64_t *ret) __attribute__((warn_unused_result));

/* The number of the file at a path, or 0 if it has none; never gives a new number. */
uint64_t file_numbers_known(const struct file_numbers *files, const char *path);

/* Close the file with this number, and remove all its names. */
void file_numbers_drop(struct file_numbers *files, uint64_t number);

void file_numbers_deinit(struct file_numbers *files);

#endif
