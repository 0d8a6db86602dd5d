/* SPDX-License-Identifier: Apache-2.0 */
/* Finishes a walk that the probes could not finish: unwinds the copy of the stack, and
 * thereby finds the unwind rules that the probes lacked. Private to unwind_miss/. */
#ifndef UNWIND_MISS_MISS_WALK_H
#define UNWIND_MISS_MISS_WALK_H

#include <stdint.h>

#include "abi.h"
#include "abi_walk.h"
#include "unwind_miss/miss_shared.h"
#include "unwind_miss/miss_process.h"
#include "unwind_miss/miss_tables.h"
#include "unwind_miss/rule_table.h"
#include "drain/stack_pages.h"
#include "drain/stack_store.h"
#include "unwind/walk.h"

/* Most frames of one copy that are unwound: a deep stack may have more than are stored
 * (probes/unwind/deep.c). */
#define MISS_WALK_FRAMES 1024

struct miss_walker {
	const struct miss_maps *maps; /* borrowed, like every pointer here */
	struct rule_table *rules;
	struct miss_tables *tables;
	struct miss_processes *processes;
	struct miss_handler_counts *counts;
	unsigned max_depth; /* most frames of a stack that is stored */
	/* For the current walk: */
	struct walk_frame frames[MISS_WALK_FRAMES];
	uint64_t pcs[ABI_MAX_DEPTH + MISS_WALK_FRAMES];
	uint8_t copy[ABI_MISS_ALL_PAGES][ABI_MISS_PAGE_BYTES];
};

/* Unwind the miss `miss`; `room` has its pages. ret->pcs is valid until the next walk. */
void miss_walk_end(struct miss_walker *walker, const struct abi_miss *miss,
		   const struct stack_room *room, struct stored_stack *ret);

/* As miss_walk_end(), but without unwinding: takes only the frames that the probes have
 * found. */
void miss_walk_cut(struct miss_walker *walker, const struct abi_miss *miss,
		   const struct stack_room *room, struct stored_stack *ret);

#endif
