/* SPDX-License-Identifier: Apache-2.0 */
/* From blocks to sums and an order of call paths. Private to report/. */
#ifndef REPORT_AGGREGATE_H
#define REPORT_AGGREGATE_H

#include "report/history.h"

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

/* For qsort(): larger first, then older, then by address. */
int block_compare(const struct snapshot_block *a, const struct snapshot_block *b);

/* True when the block belongs in the rows. */
bool block_is_listed(const struct snapshot *snap, const struct report_options *options,
		     const struct snapshot_block *block);

/* The block's stack, or SNAPSHOT_NO_STACK when the snapshot has no such stack. */
uint32_t block_stack(const struct snapshot *snap, const struct snapshot_block *block);

/* Sum the listed blocks of section->class for each stack, and fill the live and listed
 * numbers and the live sizes of the section. `ret` is the caller's to deinit, also after
 * an error. */
struct error *aggregate_blocks(const struct report *report,
			       struct report_section *section, struct stack_sums *ret)
	__attribute__((warn_unused_result));

#endif
