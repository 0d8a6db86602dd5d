/* SPDX-License-Identifier: Apache-2.0 */
/* The call tree of a report: what each function holds, below its callers. */
#ifndef REPORT_TREE_H
#define REPORT_TREE_H

#include "report/groups.h"

/* A function below one chain of callers (callees). Estimates if blocks were sampled. */
struct tree_node {
	uint32_t group;
	uint32_t parent;                 /* index of a node; always smaller */
	uint64_t flat_bytes, flat_count; /* of stacks that end here */
	uint64_t bytes, count;           /* cumulative */
};

#define TREE_NO_LINE UINT32_MAX

/* A line to show: a node, and those folded into it. */
struct tree_line {
	uint32_t first, last; /* nodes; each is the parent of the next. Follow the parents
				 from `last` on. */
	uint32_t parent;      /* index of a line; always smaller; TREE_NO_LINE: none */
	uint32_t depth;       /* number of lines above */
	uint64_t flat_bytes;  /* of all of its nodes */
	uint64_t bytes, count; /* cumulative, of `first` */
	bool is_shown;
};

/* Branches that are not shown: parts of the tree below a node that is shown. */
struct tree_left_out {
	uint64_t branches;
	uint64_t bytes, count;
};

struct tree_options {
	bool callees_first; /* the roots are the functions that allocate; else the
			       outermost callers */
	/* Leave out branches with fewer bytes, and fold a node into its parent if it has
	 * more than FOLD_PERCENT of the parent's bytes and nothing else of the parent is
	 * to be shown. */
	uint64_t min_bytes;
	uint64_t branches; /* number of lines without a line below that are shown at most,
			      largest first; 0: no limit */
};

#define TREE_FOLD_PERCENT 95

struct tree {
	struct groups groups;
	VEC(struct tree_node) nodes; /* the first is the root of all, without a group */
	VEC(struct tree_line) lines;
	VEC(uint32_t)
	order; /* the lines that are shown, in the order to show them: each
		  below its parent, siblings by size */
	struct tree_left_out small, beyond; /* left out by min_bytes; by `branches` */
};

/*
 * Make the tree of a section of `report`, which should have all call paths: top 0. With
 * report_options.group_by_process the roots are the processes. The flat bytes of the
 * lines that are shown and the bytes left out add up to what the rows hold. Linear in
 * frames except for sorting, without recursion. `ret` refers to the report. The caller
 * calls tree_deinit() on it, also after an error: memory is out.
 */
struct error *tree_make(const struct report *report, const struct report_section *section,
			const struct tree_options *options, struct tree *ret)
	__attribute__((warn_unused_result));
void tree_deinit(struct tree *tree);

#endif
