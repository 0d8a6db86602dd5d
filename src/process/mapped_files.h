/* SPDX-License-Identifier: Apache-2.0 */
/* Which files a process maps. The answers are kept: reading 65,000 mappings takes a
 * second, and a process can map as many files, and lead to a question for each. */
#ifndef PROCESS_MAPPED_FILES_H
#define PROCESS_MAPPED_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "process/proc.h"
#include "util/vec.h"

/* Files beyond so many count as not mapped. */
#define MAPPED_FILES_MAX 16384

/* A file, by the numbers of /proc/PID/maps, and the first range where it is mapped. */
struct mapped_file {
	uint64_t inode;
	uint32_t major, minor;
	uint64_t start, end;
};

/* All zero: nothing is known yet. */
struct mapped_files {
	VEC(struct mapped_file) list; /* each file once, ordered by its numbers */
	uint64_t read_ns;             /* when the mappings were read, by clock_now_ns() */
	uint64_t cost_ns;             /* how long that took */
};

void mapped_files_deinit(struct mapped_files *files);

/*
 * Does the process map the file, or did it a short while ago? Reads the mappings, but at
 * most for a twentieth of the time: a file that has been mapped since then counts as not
 * mapped. On some file systems only the inode numbers are the same in maps and in stat(2)
 * (process/file_names.h): a few files with the same inode number are compared through
 * /proc/PID/map_files.
 */
bool mapped_files_have(struct mapped_files *files, const struct proc *proc,
		       const struct stat *st);

#endif
