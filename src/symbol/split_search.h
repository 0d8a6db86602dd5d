/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the split DWARF of one program or library is looked for: in BINARY.dwp, by
 * DW_AT_dwo_name in the directory of the compilation, and beside the file; in the
 * target's root and in ours; and below each directory of --debug-dir. The names are the
 * target's to choose, so only regular files are opened, and of what is found only a unit
 * counts whose id is the one of the skeleton.
 */
#ifndef SYMBOL_SPLIT_SEARCH_H
#define SYMBOL_SPLIT_SEARCH_H

#include "symbol/debug_search.h"
#include "symbol/split_unit.h"

struct split_search;

/* For the file that the target names `path`, whose debug info was found in the directory
 * `debug_dir` (NULL: in itself). `search` and what is counted in `memory_bytes` are
 * borrowed. */
struct error *split_search_create(const struct debug_search *search, const char *path,
				  const char *debug_dir, uint64_t *memory_bytes,
				  struct split_search **ret)
	__attribute__((warn_unused_result));

/* The units that were found must be gone by then. */
void split_search_destroy(struct split_search *search);

/* Look for the unit of `skeleton`; *ret is NULL when there is none, and else the caller's
 * to destroy. Fails only when memory is out. */
struct error *split_search_find(struct split_search *search,
				const struct split_skeleton *skeleton,
				struct dwarf_budget *budget, struct split_unit **ret)
	__attribute__((warn_unused_result));

#endif
