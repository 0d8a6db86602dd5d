/* SPDX-License-Identifier: Apache-2.0 */
/* Gives the probes the unwind rules of whole files for the processes that the miss
 * handler knows: the regions of the files and the layout of each process. Private to
 * unwind_miss/. */
#ifndef UNWIND_MISS_MISS_TABLES_H
#define UNWIND_MISS_MISS_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind_miss/layouts.h"
#include "unwind_miss/miss_process.h"
#include "unwind_miss/unwind_tables.h"

struct walk;

struct miss_tables {
	struct unwind_tables files;
	struct layouts layouts;
	struct miss_processes *processes; /* borrowed */
	size_t rules_bytes;               /* size of the mapped rules; 0: not mapped */
};

/* The descriptors and pointers of `maps` are used until miss_tables_deinit(). Without
 * maps for tables the other functions do nothing. */
struct error *miss_tables_init(struct miss_tables *tables, const struct miss_maps *maps,
			       struct miss_processes *processes)
	__attribute__((warn_unused_result));
void miss_tables_deinit(struct miss_tables *tables);

/* Tell the probes what a slot's process maps, unless they know it. */
void miss_tables_show(struct miss_tables *tables, uint32_t slot,
		      struct process_code *code);

/* Tell the probes about newly mapped code of all processes, before stacks lead there.
 * Returns true if there was any. */
bool miss_tables_show_mapped(struct miss_tables *tables);

/* A stack of the process led through the frames of `walk`: give the probes the rules
 * around each, and the process's layout. */
void miss_tables_follow(struct miss_tables *tables, uint32_t slot,
			struct process_code *code, const struct walk *walk);

#endif
