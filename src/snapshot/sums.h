/* SPDX-License-Identifier: Apache-2.0 */
/* A snapshot with sums instead of single blocks, for a reader who needs no others: it is
 * written and read many times faster. */
#ifndef SNAPSHOT_SUMS_H
#define SNAPSHOT_SUMS_H

#include "snapshot/snapshot.h"

/* Add one block, which stands for `weight` blocks. */
void snapshot_held_add_block(struct snapshot_held *held,
			     const struct snapshot_block *block, double weight);

/* Add the blocks of `more`. */
void snapshot_held_add(struct snapshot_held *held, const struct snapshot_held *more);

/*
 * Make `ret` a view of `snap` with the sums of its blocks (snapshot.held), and without
 * the lifetimes and sizes of call paths. It shares everything else, and keeps blocks that
 * may be of several processes. Reports of `ret` have the same sums, but no medians, sizes
 * and threads of rows, no single blocks and no live_sizes. The caller calls
 * snapshot_sums_deinit(), also after a failure. False: memory is out.
 */
bool snapshot_sums(const struct snapshot *snap, struct snapshot *ret)
	__attribute__((warn_unused_result));
void snapshot_sums_deinit(struct snapshot *sums);

#endif
