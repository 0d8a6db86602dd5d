/* SPDX-License-Identifier: Apache-2.0 */
/* What code a process has mapped at a time, and names in the files of it that no path
 * leads to any more. */
#ifndef SYMBOL_CODE_MAPS_H
#define SYMBOL_CODE_MAPS_H

#include <stdint.h>

#include "util/error.h"
#include "util/vec.h"

/* One named executable line of /proc/PID/maps. */
struct code_range {
	uint64_t start, end, file_offset;
	char *path; /* of a file, as the line has it; else NULL. Owned */
};

struct code_file;

struct code_maps {
	VEC(struct code_range) ranges; /* by address */
	VEC(struct code_file) files;   /* of ranges whose paths lead nowhere */
	uint64_t hash;                 /* of the lines behind the ranges */
};

/* The code that `tid` has mapped now (target/living.h): ERROR_GONE when it has exited. */
struct error *code_maps_read(int tid, struct code_maps *ret)
	__attribute__((warn_unused_result));
void code_maps_deinit(struct code_maps *maps);

/*
 * Where the path leads to nothing below the root directory of the process, open the file
 * by way of the mapping: it was deleted or replaced, or left behind by chroot(2). Its
 * names are known then also when the process is gone. What cannot be opened has none.
 */
void code_maps_open(struct code_maps *maps, int tid);

/* The range of `address`, or NULL. */
const struct code_range *code_maps_find(const struct code_maps *maps, uint64_t address);

/* The function at `address`, if it is in a file that code_maps_open() has opened; else
 * NULL. *ret_offset is the distance from its start. Borrowed. */
const char *code_maps_name(struct code_maps *maps, uint64_t address,
			   uint64_t *ret_offset);

#endif
