/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code that a process has mapped, and function names of mapped files that are no
 * longer found at their paths. libbcc is shown only some of the lines of /proc/PID/maps:
 * docs/mechanisms.md, "Names of functions", says which and why.
 */
#ifndef SYMBOL_CODE_MAPS_H
#define SYMBOL_CODE_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/maps.h"
#include "util/error.h"
#include "util/hashmap.h"
#include "util/strbuf.h"
#include "util/vec.h"

struct elf_names;

#define CODE_MAP_LEFT_OUT UINT32_MAX

/* The data shared by all lines of /proc/PID/maps that belong to one file. */
struct code_file {
	char *text;       /* device, inode and path, as the lines have them; owned */
	const char *path; /* in `text`; NULL: not a file, such as "[vdso]" */
	uint32_t first;   /* index of its first chosen line, or CODE_MAP_LEFT_OUT */
	bool is_left_out; /* it should have been opened, but OPENED_MAX files were */
	int fd;           /* if the path leads nowhere: the file until its names are read;
			     else -1 */
	struct elf_names *names; /* read from `fd`; NULL: none */
};

/* One executable line that has a name. */
struct code_map {
	uint64_t start, end, file_offset;
	uint32_t file;  /* index into code_maps.files */
	uint32_t shown; /* index of the line that stands for it, perhaps its own;
			   CODE_MAP_LEFT_OUT: none */
};

struct code_maps {
	VEC(struct code_map) list; /* by address, without overlaps */
	VEC(struct code_file) files;
	uint64_t hash;          /* of the lines that `list` was made from */
	size_t opened;          /* files opened by code_maps_open() */
	size_t left_out;        /* mappings without function names, beyond the limits */
	struct hashmap by_text; /* text to an index into `files`; only during reading */
};

/* Read the code mappings of thread `tid` (process/live_thread.h), and the text that has
 * them. ERROR_GONE: it has exited; ERROR_UNSUPPORTED: the text is longer than
 * PROCFS_MAPS_BYTES (process/procfs.h). */
struct error *code_maps_read(int tid, struct code_maps *ret, struct maps_text *ret_text)
	__attribute__((warn_unused_result));
void code_maps_deinit(struct code_maps *maps);

/* Append the lines that libbcc is shown, in the format of /proc/PID/maps. */
void code_maps_put_shown(const struct code_maps *maps, struct strbuf *out);

/*
 * Open each file whose path leads to nothing below the root directory of the process,
 * and each file that is not shown to libbcc. They are opened through
 * /proc/TID/map_files: the file may be deleted, replaced or left behind by chroot(2).
 * Their names are then also known after the process has exited. At most 256 files are
 * opened; a file that is not opened has no names.
 */
void code_maps_open(struct code_maps *maps, int tid);

/* The mapping of `address`, or NULL. Borrowed. */
const struct code_map *code_maps_find(const struct code_maps *maps, uint64_t address);

/* The mapping shown to libbcc that has the same part of the same file as `map`, perhaps
 * `map` itself. NULL: none. */
const struct code_map *code_maps_shown(const struct code_maps *maps,
				       const struct code_map *map);

/* The path of the file, as the lines have it; NULL: it is not a file. Borrowed. */
const char *code_maps_path(const struct code_maps *maps, const struct code_map *map);

/* The name of the function at `address`, which is in `map`. NULL unless
 * code_maps_open() has opened its file. *ret_offset is the distance from the function's
 * start. Borrowed. */
const char *code_maps_name(struct code_maps *maps, const struct code_map *map,
			   uint64_t address, uint64_t *ret_offset);

#endif
