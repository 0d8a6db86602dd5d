/* SPDX-License-Identifier: Apache-2.0 */
/* The miss handler: a thread that finishes the walks that the probes had to stop for lack
 * of an unwind rule. It unwinds the copy of the stack that comes with each miss, and
 * gives the missing rules to the probes. It also stores stacks that came before the
 * tables had room for them. It sleeps while the rings are empty. */
#ifndef UNWIND_MISS_MISS_HANDLER_H
#define UNWIND_MISS_MISS_HANDLER_H

#include <stdbool.h>
#include <stdint.h>

#include "drain/hit_counts.h"
#include "unwind_miss/miss_shared.h"
#include "util/error.h"

struct miss_handler;
struct miss_ring;

struct error *miss_handler_create(const struct miss_maps *maps, struct miss_handler **ret)
	__attribute__((warn_unused_result));
/* The ring of most misses. */
struct miss_ring *miss_handler_ring(struct miss_handler *handler);
/* Wait until the probes can send misses. */
struct error *miss_handler_wait(struct miss_handler *handler)
	__attribute__((warn_unused_result));
void miss_handler_destroy(struct miss_handler *handler);

/* Read the unwind information of a process, if counting has not begun. Otherwise, and if
 * this fails, it is read at the process's first miss. The miss handler itself follows
 * later mappings, forks and execs of the process. */
void miss_handler_prepare(struct miss_handler *handler, uint32_t slot);

/* The slots' processes have ended: remove their rules and their other state. */
void miss_handler_remove(struct miss_handler *handler, const uint32_t slots[],
			 size_t count);

/* Have the miss handler read the kernel's reports about mappings now. */
void miss_handler_wake(struct miss_handler *handler);

/* Handle all misses so far. */
void miss_handler_catch_up(struct miss_handler *handler);

/* Check some processes, others in each call, for code that was replaced without any
 * report. Rules for replaced code are removed, and the replacement is counted. */
void miss_handler_look_over(struct miss_handler *handler);

/* The number of a stack: `stack` itself, or for the number of a miss the stack that was
 * found. Returns ABI_NO_STACK if that stack was not stored. */
uint32_t miss_handler_stack(struct miss_handler *handler, uint32_t stack);

/* With counts_hits: for each miss so far, add a hit to `hits` at its stack. Hits whose
 * stack was not stored, or that are still in the ring, have no stack. Returns false
 * without memory. */
bool miss_handler_add_hits(struct miss_handler *handler, struct hit_counts *hits)
	__attribute__((warn_unused_result));

/* Are enough numbers of misses kept that miss_handler_sweep() is due? */
bool miss_handler_has_many_stacks(struct miss_handler *handler);

/* Drop numbers of misses that are out of use. Every number in use must have been passed
 * to miss_handler_stack() since the last sweep. */
void miss_handler_sweep(struct miss_handler *handler);

void miss_handler_count(struct miss_handler *handler, struct miss_handler_counts *ret);

/* In a forked child, which lacks the thread: from now on handle no misses. Those in the
 * ring count as lost. False: the fork came while the thread was changing the numbers of
 * stacks; fork again. */
bool miss_handler_cut_off(struct miss_handler *handler);

#endif
