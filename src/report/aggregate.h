/* SPDX-License-Identifier: Apache-2.0 */
/* Sums blocks by call path. Private to report/. */
#ifndef REPORT_AGGREGATE_H
#define REPORT_AGGREGATE_H

#include "report/history.h"

/* Add the hits of an event. Their size is the bytes that the hits stand for; if hits do
 * not stand for bytes, it is the number of hits. */
void stack_sum_add_event(struct snapshot_held *sum, const struct snapshot *snap,
			 const struct snapshot_event *event);

/* Round a sum. Without `is_estimate` the estimate equals the traced numbers. */
struct report_sum report_sum_from(const struct snapshot_held *sum, bool is_estimate);

/* The age of `block` at the snapshot; 0 if it was allocated after the snapshot's time. */
uint64_t block_age_ns(const struct snapshot *snap, const struct snapshot_block *block);

/* For qsort(): larger blocks first, then older ones, then by address. */
int block_compare(const struct snapshot_block *a, const struct snapshot_block *b);

/* Is the block old enough to be part of the rows? Always true with combined_only. */
bool block_is_listed(const struct snapshot *snap, const struct report_options *options,
		     const struct snapshot_block *block);

/* The index of the block's stack; SNAPSHOT_NO_STACK if the snapshot has no such stack. */
uint32_t block_stack(const struct snapshot *snap, const struct snapshot_block *block);

/* Sum the listed blocks of section->class by stack, and fill the live sum, the listed sum
 * and the live sizes of the section. The caller calls stack_sums_deinit() on `ret`, also
 * after an error. */
struct error *aggregate_blocks(const struct report *report,
			       struct report_section *section, struct stack_sums *ret)
	__attribute__((warn_unused_result));

#endif
