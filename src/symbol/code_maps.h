/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What code a process has mapped at a time, and names in the files of it that no path
 * leads to any more.
 *
 * libbcc opens a file for each line of /proc/PID/maps, looks through all of them for each
 * address, and keeps a descriptor for each path. So it is shown a part of the lines: of
 * mappings that show the same part of the same file the first one, which stands for the
 * others, and in all at most 4,096 lines with 1,024 files, the lowest and the highest
 * ones first (util/ends_first.h). Code beyond has no function names. Files whose path
 * has 4,096 characters, and files in memory (memfd_create(2)), are not shown: their names
 * are read here.
 */
#ifndef SYMBOL_CODE_MAPS_H
#define SYMBOL_CODE_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"
#include "util/hashmap.h"
#include "util/strbuf.h"
#include "util/vec.h"

struct elf_names;

#define CODE_MAP_LEFT_OUT UINT32_MAX

/* What the lines of /proc/PID/maps have in common that belong to one file. */
struct code_file {
	char *text;       /* device, inode and path, as the lines have them; owned */
	const char *path; /* in `text`; NULL: not of a file, as "[vdso]" */
	uint32_t first;   /* index of its line that was chosen first, or
			     CODE_MAP_LEFT_OUT */
	bool is_left_out; /* it was to be opened, but too many were */
	/* Where the path leads to nothing: the file until it is read, else -1, and its
	 * names from then on. */
	int fd;
	struct elf_names *names;
};

/* One named executable line. */
struct code_map {
	uint64_t start, end, file_offset;
	uint32_t file;  /* index into code_maps.files */
	uint32_t shown; /* index of the line that stands for it, its own too, or
			   CODE_MAP_LEFT_OUT */
};

struct code_maps {
	VEC(struct code_map) list; /* by address, without overlaps */
	VEC(struct code_file) files;
	uint64_t hash;   /* of the lines behind them */
	size_t opened;   /* files, by code_maps_open() */
	size_t left_out; /* mappings without function names, as there are too many */
	struct hashmap by_text; /* to files; while lines are read */
};

/* The code that `tid` has mapped now (target/living.h): ERROR_GONE when it has exited;
 * ERROR_UNSUPPORTED when the list is longer than PROCFS_MAPS_BYTES (target/procfs.h). */
struct error *code_maps_read(int tid, struct code_maps *ret)
	__attribute__((warn_unused_result));
void code_maps_deinit(struct code_maps *maps);

/* Append the lines that libbcc is shown, in the format of /proc/PID/maps. */
void code_maps_put_shown(const struct code_maps *maps, struct strbuf *out);

/*
 * Where the path leads to nothing below the root directory of the process, open the file
 * by way of the mapping: it was deleted or replaced, or left behind by chroot(2). Its
 * names are known then also when the process is gone. What cannot be opened has none, and
 * 256 files are opened. Files that libbcc is not shown are among them.
 */
void code_maps_open(struct code_maps *maps, int tid);

/* The mapping of `address`, or NULL. Borrowed. */
const struct code_map *code_maps_find(const struct code_maps *maps, uint64_t address);

/* The mapping that libbcc is shown in place of `map`, `map` itself too: it has the same
 * part of the same file. NULL: none. */
const struct code_map *code_maps_shown(const struct code_maps *maps,
				       const struct code_map *map);

/* The path of the file, as the lines have it; NULL: it is not a file. Borrowed. */
const char *code_maps_path(const struct code_maps *maps, const struct code_map *map);

/* The function at `address`, which is in `map`, if code_maps_open() has opened its file;
 * else NULL. *ret_offset is the distance from its start. Borrowed. */
const char *code_maps_name(struct code_maps *maps, const struct code_map *map,
			   uint64_t address, uint64_t *ret_offset);

#endif
