/* SPDX-License-Identifier: Apache-2.0 */
/* What code a process has mapped at a time, and names in the files of it that no path
 * leads to any more. */
#ifndef SYMBOL_CODE_MAPS_H
#define SYMBOL_CODE_MAPS_H

#include <stdint.h>

#include "util/error.h"
#include "util/vec.h"

struct elf_names;

/* One named executable line of /proc/PID/maps. */
struct code_map {
	uint64_t start, end, file_offset;
	char *path; /* of a file, as the line has it; else NULL. Owned */
	/* Where the path leads to nothing: the file until it is read, else -1, and its
	 * names from then on. */
	int fd;
	struct elf_names *names;
};

struct code_maps {
	VEC(struct code_map) list; /* by address */
	uint64_t hash;             /* of the lines behind them */
};

/* The code that `tid` has mapped now (target/living.h): ERROR_GONE when it has exited;
 * ERROR_UNSUPPORTED when the list is longer than PROCFS_MAPS_BYTES (target/procfs.h). */
struct error *code_maps_read(int tid, struct code_maps *ret)
	__attribute__((warn_unused_result));
void code_maps_deinit(struct code_maps *maps);

/*
 * Where the path leads to nothing below the root directory of the process, open the file
 * by way of the mapping: it was deleted or replaced, or left behind by chroot(2). Its
 * names are known then also when the process is gone. What cannot be opened has none.
 */
void code_maps_open(struct code_maps *maps, int tid);

/* The mapping of `address`, or NULL. Borrowed. */
struct code_map *code_maps_find(const struct code_maps *maps, uint64_t address);

/* The function at `address`, which is in `map`, if code_maps_open() has opened its file;
 * else NULL. *ret_offset is the distance from its start. Borrowed. */
const char *code_map_name(struct code_map *map, uint64_t address, uint64_t *ret_offset);

#endif
