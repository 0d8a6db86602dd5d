/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two snapshots of one moment, of a process and of the kernel on its behalf, made into
 * one. Both number their stacks from 0 on, and have more of them each time.
 */
#ifndef SNAPSHOT_JOIN_H
#define SNAPSHOT_JOIN_H

#include <stdbool.h>

#include "snapshot/snapshot.h"

/* What stacks are numbered as in the joined ones of a run. */
struct snapshot_numbers {
	VEC(uint32_t) list;
};

struct snapshot_join {
	struct snapshot_numbers of_process, of_kernel;
	uint32_t count; /* of both together */
};

/*
 * Add what `kernel` has (blocks of BLOCK_KERNEL alone, of process 0) to `snap`, with its
 * stacks, allocators, classes, totals and losses; its blocks are taken out of it. Stacks
 * of both get numbers that stay theirs in the run. False when memory is out: then both
 * may only be destroyed.
 */
bool snapshot_join(struct snapshot_join *join, struct snapshot *snap,
		   struct snapshot *kernel) __attribute__((warn_unused_result));
void snapshot_join_deinit(struct snapshot_join *join);

#endif
