/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of mappings that the kernel told of, found by their paths once the process is
 * gone. A file counts as the one that was mapped if it has the numbers that the kernel
 * told, and has not been changed since: a number can be given to another file when the
 * first one is deleted, which changes the time of that.
 */
#ifndef CLI_TOLD_FILES_H
#define CLI_TOLD_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "target/file_names.h"
#include "target/told_code.h"
#include "util/error.h"
#include "util/hashmap.h"
#include "util/vec.h"

/* So many are looked for. */
#define TOLD_FILES_MAX 1024

struct elf_reader;

struct told_file {
	char *path;
	struct file_name told;   /* that it was looked for by */
	struct file_name listed; /* the same as `told` if it was not found */
	bool is_found;
	int64_t changed_ns; /* CLOCK_REALTIME */
	char *build_id;     /* or NULL */
};

/* Files below one directory, as they are when they are first asked for: for as long as a
 * report takes. */
struct told_files {
	int root_fd;               /* borrowed */
	struct elf_reader *reader; /* borrowed; NULL: they are read here */
	int64_t realtime_ns;       /* CLOCK_REALTIME less CLOCK_MONOTONIC */
	struct hashmap by_name;    /* hash of name and path: index into `list` */
	VEC(struct told_file *) list;
};

void told_files_init(struct told_files *files, int root_fd, struct elf_reader *reader);
void told_files_deinit(struct told_files *files);

/* The file of the mapping; NULL: it cannot be found any more, or is one too many, or
 * memory is out. Borrowed. */
const struct told_file *told_files_get(struct told_files *files,
				       const struct told_mapping *mapping);

#endif
