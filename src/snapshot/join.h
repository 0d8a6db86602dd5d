/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins two snapshots of one moment, of a process and of the kernel on its behalf. Both
 * number their stacks from 0 on, and each later snapshot has more stacks.
 */
#ifndef SNAPSHOT_JOIN_H
#define SNAPSHOT_JOIN_H

#include <stdbool.h>

#include "snapshot/snapshot.h"

/* Maps stack numbers of one source to numbers in the joined snapshots of a run. */
struct snapshot_numbers {
	VEC(uint32_t) list;
};

struct snapshot_join {
	struct snapshot_numbers of_process, of_kernel;
	uint32_t count; /* stacks of both sources */
};

/*
 * Move the contents of `kernel` (only blocks of BLOCK_KERNEL, of process 0) to `snap`,
 * with stacks, allocators, classes, totals and losses. Stacks of both sources get
 * numbers that are stable for the run. False when out of memory: then both snapshots
 * may only be destroyed.
 */
bool snapshot_join(struct snapshot_join *join, struct snapshot *snap,
		   struct snapshot *kernel) __attribute__((warn_unused_result));
void snapshot_join_deinit(struct snapshot_join *join);

#endif
