/* SPDX-License-Identifier: Apache-2.0 */
/* Gives the probes the unwind rules of whole files for the processes that the miss
 * handler knows: the regions of the files and the layout of each process. Only for
 * learner*.c and miss_walk.c. */
#ifndef BPF_LEARNER_TABLES_H
#define BPF_LEARNER_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/layouts.h"
#include "bpf/learner_process.h"
#include "bpf/unwind_tables.h"

struct walk;

struct learner_tables {
	struct unwind_tables files;
	struct layouts layouts;
	struct learner_processes *processes; /* borrowed */
	size_t rules_bytes;                  /* size of the mapped rules; 0: not mapped */
};

/* The descriptors and pointers of `maps` are used until learner_tables_deinit(). Without
 * maps for tables the other functions do nothing. */
struct error *learner_tables_init(struct learner_tables *tables,
				  const struct learner_maps *maps,
				  struct learner_processes *processes)
	__attribute__((warn_unused_result));
void learner_tables_deinit(struct learner_tables *tables);

/* Tell the probes what a slot's process maps, unless they know it. */
void learner_tables_show(struct learner_tables *tables, uint32_t slot,
			 struct process_code *code);

/* Tell the probes about newly mapped code of all processes, before stacks lead there.
 * Returns true if there was any. */
bool learner_tables_show_mapped(struct learner_tables *tables);

/* A stack of the process led through the frames of `walk`: give the probes the rules
 * around each, and the process's layout. */
void learner_tables_follow(struct learner_tables *tables, uint32_t slot,
			   struct process_code *code, const struct walk *walk);

/* Drop the layout: the slot has another process, or code of its process was replaced. */
void learner_tables_drop(struct learner_tables *tables, uint32_t slot);

#endif
