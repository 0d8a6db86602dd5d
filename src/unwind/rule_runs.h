/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unwind rules of a range of code, as runs of addresses with equal rules. The
 * unwind table of a whole file is made of them.
 */
#ifndef UNWIND_RULE_RUNS_H
#define UNWIND_RULE_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/cfi.h"
#include "util/vec.h"

/* A rule that holds from this address up to the next run. */
struct rule_run {
	uint64_t start; /* in the image's address space */
	/* probes/unwind_step.h. UNWIND_NONE: no rule can express the row, or the rule
	 * depends on the pc itself (in the PLT), or the image has no row. Without a row,
	 * functions that keep a frame pointer get UNWIND_RULE_CALLED, which holds for
	 * return addresses only. */
	uint64_t rule;
};

struct rule_runs {
	VEC(struct rule_run) list; /* ascending; neighbours differ */
};

void rule_runs_deinit(struct rule_runs *runs);

/*
 * Replace *ret by the runs of the addresses [start, end). The first run begins at
 * `start`. The rule at an address is for frames whose row is looked up there: with a
 * return address minus 1, or an interrupted pc. Returns false when out of memory, or if
 * the unwind information of the range takes too much work; then *ret must not be used.
 */
bool rule_runs_build(const struct cfi *cfi, uint64_t start, uint64_t end,
		     struct rule_runs *ret);

#endif
