/* SPDX-License-Identifier: Apache-2.0 */
/* From blocks to sums and an order of call paths. Private to report/. */
#ifndef REPORT_AGGREGATE_H
#define REPORT_AGGREGATE_H

#include "report/history.h"

/* One call path in the order of the report. */
struct stack_rank {
	uint64_t first, second; /* what is sorted by, and what breaks a tie */
	uint32_t stack;         /* or SNAPSHOT_NO_STACK */
};

struct stack_ranks {
	VEC(struct stack_rank) ranks;
};

/* Add a block that stands for `weight` blocks. */
void stack_sum_add(struct stack_sum *sum, const struct snapshot_block *block,
		   double weight);

/* Add hits of an event, with the bytes that they stand for, else as size and as count. */
void stack_sum_add_event(struct stack_sum *sum, const struct snapshot *snap,
			 const struct snapshot_event *event);

/* A sum of stack_sum's, rounded; without sampling the estimate is what was traced. */
struct report_sum report_sum_from(const struct stack_sum *sum, bool is_estimate);

/* How long ago `block` was allocated; 0 when its clock is ahead of the snapshot's. */
uint64_t block_age_ns(const struct snapshot *snap, const struct snapshot_block *block);

/* True when the block belongs in the rows. */
bool block_is_listed(const struct snapshot *snap, const struct report_options *options,
		     const struct snapshot_block *block);

/* The block's stack, or SNAPSHOT_NO_STACK when the snapshot has no such stack. */
uint32_t block_stack(const struct snapshot *snap, const struct snapshot_block *block);

/* Sum the listed blocks of section->class for each stack, and fill the live and listed
 * numbers of the section. `ret` is the caller's to deinit, also after an error. */
struct error *aggregate_blocks(const struct report *report,
			       struct report_section *section, struct stack_sums *ret)
	__attribute__((warn_unused_result));

/* The call paths that hold anything, largest first. `ret` is the caller's to deinit. */
struct error *rank_stacks(const struct stack_sums *sums, enum report_sort sort,
			  bool is_estimate, struct stack_ranks *ret)
	__attribute__((warn_unused_result));

#endif
