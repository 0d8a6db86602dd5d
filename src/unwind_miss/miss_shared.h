/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the miss handler share: the maps, and what is counted. */
#ifndef UNWIND_MISS_MISS_SHARED_H
#define UNWIND_MISS_MISS_SHARED_H

#include <stdbool.h>
#include <stdint.h>

#include "compile/source.h"

struct abi_control;
struct abi_process;
struct fence;
struct stack_tables;

/* What the miss handler works on. The mapped records, the sizes and the descriptors of
 * the maps are borrowed. */
struct miss_maps {
	struct abi_control *control;
	struct abi_process *processes;
	const struct source_sizes *sizes;
	bool no_frame_pointers; /* end a walk at a frame without unwind information */
	/* store pc + 1 for a pc that is not a return address, as WALK_EXACT of the probes
	 * does */
	bool marks_interrupted;
	enum trace_scope scope;
	bool counts_hits; /* each miss is a hit of an event */
	/* Share of one processor for the miss handler: 1..100 percent, averaged over
	 * 20 s. */
	unsigned cpu_percent;
	/* How long the start of a run waits for unwind tables, at most. */
	uint64_t first_sweep_ns;
	struct stack_tables *stacks;
	int misses, rules, rule_spill, moves;
	int layouts, unwind_pages,
		unwind_rules;            /* -1: the probes have no unwind tables */
	const struct fence *fence;       /* borrowed */
	int untraced_movers;             /* -1: not system-wide */
	int stack_numbers, stack_claims; /* of drain/stack_store.h; -1: not by hash */
};

struct miss_handler_counts {
	uint64_t walks;         /* misses that were unwound */
	uint64_t rules;         /* rules that the probes currently have */
	uint64_t table_bytes;   /* kernel memory of whole files' rules, bytes */
	uint64_t rules_refused; /* rules that did not fit, counted each time */
	uint64_t stacks_refused;
	/* stacks that ended this way: misses, and whole ones that came in the ring */
	uint64_t unreadable, truncated;
	uint64_t lost;        /* ended in unknown code, or used rules of replaced code */
	uint64_t over_budget; /* not unwound, since cpu_percent was used up */
};

#endif
