/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unwind rules of a range of code, as runs of addresses with equal rules: what a
 * table of rules for a whole file is made of.
 */
#ifndef UNWIND_RULE_RUNS_H
#define UNWIND_RULE_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/cfi.h"
#include "util/vec.h"

/* The rule from this address on, up to the next run. */
struct rule_run {
	uint64_t start; /* in the image's address space */
	uint64_t rule;  /* probes/unwind_step.h; UNWIND_NONE: no rule holds for the run */
};

struct rule_runs {
	VEC(struct rule_run) list; /* ascending; neighbours differ */
};

void rule_runs_deinit(struct rule_runs *runs);

/*
 * Put the runs of the addresses from `start` up to `end` (exclusive) in place of what
 * *ret has; the first one begins at `start`. The rule at an address is that of a frame
 * whose row is looked up there: of a return address less 1, or of an interrupted pc.
 * UNWIND_NONE stands where the row fits no rule, and where the rule depends on the pc by
 * more than its row (the PLT). Where the image has no row, functions that keep a frame
 * pointer have UNWIND_RULE_CALLED, which holds for return addresses only, and all others
 * UNWIND_NONE. Returns false when there is
 * no memory, or when the unwind information of the range takes too much work; then *ret
 * is of no use.
 */
bool rule_runs_build(const struct cfi *cfi, uint64_t start, uint64_t end,
		     struct rule_runs *ret);

#endif
