/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the files of mappings that the kernel reported, by their paths, after the process
 * has exited. A file counts as the mapped one if it has the device and inode numbers that
 * the kernel reported and has not been changed since. A deleted file's inode number can
 * be given to another file, but that sets a new change time.
 */
#ifndef TRACEES_WATCHED_FILES_H
#define TRACEES_WATCHED_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "process/file_names.h"
#include "process/watched_code.h"
#include "util/error.h"
#include "util/hashmap.h"
#include "util/vec.h"

/* At most this many files are looked up. */
#define WATCHED_FILES_MAX 1024

struct elf_reader;

struct watched_file {
	char *path;
	struct file_name reported; /* device and inode that the kernel reported */
	struct file_name listed; /* device and inode in /proc/PID/maps; `reported` if not
				    found */
	bool is_found;
	int64_t changed_ns; /* last change, CLOCK_REALTIME */
	char *build_id;     /* NULL: none, or not readable */
};

/* Files below one root directory, as they are when first looked up. Lives for one
 * report. */
struct watched_files {
	int root_fd;               /* borrowed */
	struct elf_reader *reader; /* borrowed; NULL: files are read in this process */
	int64_t realtime_ns;       /* CLOCK_REALTIME minus CLOCK_MONOTONIC */
	struct hashmap by_name;    /* hash of inode and path -> index into `list` */
	VEC(struct watched_file *) list;
};

void watched_files_init(struct watched_files *files, int root_fd,
			struct elf_reader *reader);
void watched_files_deinit(struct watched_files *files);

/* The file of the mapping. NULL: it no longer exists, was changed, exceeds
 * WATCHED_FILES_MAX, or memory is out. Borrowed. */
const struct watched_file *watched_files_get(struct watched_files *files,
					     const struct watched_mapping *mapping);

#endif
