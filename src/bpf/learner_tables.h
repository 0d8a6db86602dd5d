/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unwind rules of whole files for the processes that the miss handler knows: which
 * files and regions the kernel has, and the layout of each process. Inside of learner*.c
 * and miss_walk.c only.
 */
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
	size_t rules_bytes;                  /* mapped */
};

/* The descriptors of `maps` are used until _deinit(). Without maps for tables the other
 * functions do nothing. */
struct error *learner_tables_init(struct learner_tables *tables,
				  const struct learner_maps *maps,
				  struct learner_processes *processes)
	__attribute__((warn_unused_result));
void learner_tables_deinit(struct learner_tables *tables);

/* Tell the probes what a slot's process maps, unless they know. */
void learner_tables_show(struct learner_tables *tables, uint32_t slot,
			 struct process_code *code);

/* Tell them what processes map that have mapped further code, before stacks lead there.
 * Returns true if there was any. */
bool learner_tables_show_mapped(struct learner_tables *tables);

/* A stack of the process led through these frames: let the probes know the rules around
 * each, and whatever else the process maps. */
void learner_tables_follow(struct learner_tables *tables, uint32_t slot,
			   struct process_code *code, const struct walk *walk);

/* The process of the slot is another one, or its code has given way to other code. */
void learner_tables_drop(struct learner_tables *tables, uint32_t slot);

#endif
