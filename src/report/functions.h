/* SPDX-License-Identifier: Apache-2.0 */
/* The sums of each function, module or source file of a report. */
#ifndef REPORT_FUNCTIONS_H
#define REPORT_FUNCTIONS_H

#include "report/groups.h"

/* Estimates if blocks were sampled. */
struct function_sum {
	uint64_t size_bytes, count;
	int64_t growth_bytes; /* since the previous report; by REPORT_GROUP_THREAD 0 */
};

struct function {
	uint32_t group;
	struct function_sum flat;       /* blocks that it allocated itself, by an
					   allocation function: see groups_path() */
	struct function_sum cumulative; /* blocks of the stacks that it is in, each stack
					   counted once */
};

struct functions {
	struct groups groups;
	struct function *list; /* in the order of the report's sort: flat bytes, flat
				  blocks, flat growth or cumulative bytes */
	size_t count;
};

/*
 * Add up the rows of a section of `report`, which should have all call paths: top 0. With
 * the report option `gone` growth includes call paths that hold nothing any more. The
 * flat sums of all functions are the sums of all rows. Linear in the number of frames,
 * except for sorting. `ret` refers to the report. The caller calls functions_deinit() on
 * it, also after an error. Fails only if memory is out.
 */
struct error *functions_find(const struct report *report,
			     const struct report_section *section, enum report_group by,
			     struct functions *ret) __attribute__((warn_unused_result));
void functions_deinit(struct functions *functions);

/* Is the growth of the groups known? */
bool functions_have_growth(enum report_group by);

/* Does the report show such a table? */
bool functions_are_shown(const struct report *report);

#endif
