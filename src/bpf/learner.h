/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The learner: a thread that ends the walks for which the probes had no rule, on the
 * copies that they hand over, and gives the probes the rules that they lacked. It sleeps
 * while there are none.
 */
#ifndef BPF_LEARNER_H
#define BPF_LEARNER_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/source.h"
#include "util/error.h"

struct abi_control;
struct abi_process;
struct fence;
struct learner;

/* What it works on. The mapped records and the sizes are borrowed, and so are the
 * descriptors of the maps. */
struct learner_maps {
	struct abi_control *control;
	struct abi_process *processes;
	const struct source_sizes *sizes;
	bool no_frame_pointers; /* a frame without unwind information ends a walk */
	bool marks_interrupted; /* store a pc that is no return address as one more, as
				   WALK_EXACT of the probes does */
	enum trace_scope scope;
	bool counts_hits; /* each walk is a hit of an event */
	/* Of one processor that walks may take, 1..100, averaged over 20 s. */
	unsigned cpu_percent;
	int misses, rules, rule_spill, stacks, stack_pcs, moves;
	int layouts, unwind_pages,
		unwind_rules;            /* -1: the probes have no unwind tables */
	const struct fence *fence;       /* borrowed */
	int strangers;                   /* -1: not of all processes */
	int stack_index;                 /* or, when it is -1: */
	int stack_numbers, stack_claims; /* of bpf/stack_store.h */
};

struct error *learner_create(const struct learner_maps *maps, struct learner **ret)
	__attribute__((warn_unused_result));
void learner_destroy(struct learner *learner);

/* Read the unwind information of a process, unless the probes are at work by now: then it
 * is done when its first walk comes, as when this fails. What it maps, forks or executes
 * later the learner hears by itself. */
void learner_prepare(struct learner *learner, uint32_t slot);

/* The slot's process is no more: what was learned of it goes. */
void learner_forget(struct learner *learner, uint32_t slot);

/* End the walks that were handed over up to now. */
void learner_catch_up(struct learner *learner);

/* Look whether code of some processes, of others each time, gave way to other code though
 * nobody noticed: what rules of it are there go, and that is counted. */
void learner_look_over(struct learner *learner);

/* The number of a stack: itself, or what a walk that was handed over came to be;
 * ABI_NO_STACK when that was not stored. */
uint32_t learner_stack(struct learner *learner, uint32_t stack);

/* With counts_hits: add a hit for each walk that was handed over so far to `hits`, at its
 * stack, or at the last element, which stands for none: those whose stack was not stored,
 * and those that are on their way. `len` is sizes.max_stacks + 1. */
void learner_add_hits(struct learner *learner, uint64_t hits[], size_t len);

/* Are so many numbers of walks kept that learner_sweep() is due? */
bool learner_has_many_stacks(struct learner *learner);

/* Each stack that is in use was asked for since the last time: others may go. */
void learner_sweep(struct learner *learner);

struct learner_counts {
	uint64_t walks;         /* ended here */
	uint64_t slow;          /* of them, because of a frame that fits no rule */
	uint64_t rules;         /* that the probes have at present */
	uint64_t table_bytes;   /* kernel memory that whole files' rules take */
	uint64_t rules_refused; /* that found no room, each time they were learned */
	uint64_t stacks_refused;
	uint64_t unreadable, truncated; /* walks that ended so */
	uint64_t lost;        /* that ended in code of which nothing could be known */
	uint64_t over_budget; /* that were not unwound, as cpu_percent was used up */
};
void learner_count(struct learner *learner, struct learner_counts *ret);

#endif
