/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the split DWARF of one program or library: in BINARY.dwp, by DW_AT_dwo_name in
 * the compilation directory, and beside the file; in the target's root and in ours; and
 * below each directory of --debug-dir. The target chooses the names. Therefore only
 * regular files are opened, and a unit is only used if its id is the skeleton's.
 */
#ifndef DWARF_SPLIT_SEARCH_H
#define DWARF_SPLIT_SEARCH_H

#include "dwarf/debug_search.h"
#include "dwarf/split_unit.h"

struct split_search;

/* Create a search for the file that the target names `path`, whose debug info was found
 * in the directory `debug_dir` (NULL: in the file itself). `search` and `memory_bytes`
 * (still available for split DWARF) are borrowed. */
struct error *split_search_create(const struct debug_search *search, const char *path,
				  const char *debug_dir, uint64_t *memory_bytes,
				  struct split_search **ret)
	__attribute__((warn_unused_result));

/* The units that it has found must be destroyed first. */
void split_search_destroy(struct split_search *search);

/* Find the unit of `skeleton`; *ret is owned by the caller, NULL if not found. Fails only
 * when out of memory. */
struct error *split_search_find(struct split_search *search,
				const struct split_skeleton *skeleton,
				struct dwarf_budget *budget, struct split_unit **ret)
	__attribute__((warn_unused_result));

#endif
