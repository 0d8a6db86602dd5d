/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of /proc/PID/maps, and their parser. */
#ifndef PROCESS_MAPS_H
#define PROCESS_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"
#include "util/vec.h"

/* One line of /proc/PID/maps (Documentation/filesystems/proc.rst, section 1.1). */
struct proc_mapping {
	uint64_t start, end;  /* end exclusive */
	uint64_t file_offset; /* bytes */
	uint64_t inode;
	uint32_t dev_major, dev_minor;
	bool readable, writable, executable;
	bool shared;  /* MAP_SHARED */
	bool deleted; /* the path ended in " (deleted)", which is cut off */
	char *path; /* escaped newlines decoded (maps_parse()); "" for anonymous memory */
};

struct proc_maps {
	VEC(struct proc_mapping) mappings; /* in address order */
};

/* What a process's /proc/PID/maps contained. */
struct maps_text {
	char *text; /* owned, ended by a NUL; NULL: not read */
	size_t size_bytes;
};

/* How the kernel writes a newline in a path (fs/proc/task_mmu.c), and what it appends to
 * the path of a file without a name (fs/d_path.c). It escapes nothing else, not even the
 * backslash. Both are ambiguous, because a file's name may contain these texts. */
#define MAPS_DELETED     " (deleted)"
#define MAPS_DELETED_LEN (sizeof(MAPS_DELETED) - 1)
#define MAPS_NEWLINE     "\\012"
#define MAPS_NEWLINE_LEN (sizeof(MAPS_NEWLINE) - 1)

/*
 * Append the mappings in `text` (`size_bytes` long, lines ended by a newline) to `ret`.
 * ERROR_MALFORMED gives the number of the line. A line that overlaps the previous one is
 * skipped: the file is not read atomically, and callers want address order. Decodes
 * "\012" and cuts " (deleted)", which are ambiguous; maps_settle_names() then checks the
 * files.
 */
struct error *maps_parse(const char *text, size_t size_bytes, struct proc_maps *ret)
	__attribute__((warn_unused_result));

/* Append copies of the mappings to `ret`. ERROR_NO_MEMORY. */
struct error *proc_maps_copy(const struct proc_maps *maps, struct proc_maps *ret)
	__attribute__((warn_unused_result));

void proc_maps_deinit(struct proc_maps *maps);

#endif
