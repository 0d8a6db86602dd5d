/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which stacks are the same call path (merge.h). Private to snapshot/. */
#ifndef SNAPSHOT_STACK_IDENTITY_H
#define SNAPSHOT_STACK_IDENTITY_H

#include <stdbool.h>

#include "snapshot/snapshot.h"
#include "util/hashmap.h"

/* The identity of a stack: two polynomials over all its identifying data, modulo 2^61 -
 * 1, at two secret points. Two different stacks have the same values with a probability
 * below 2^-100, whatever data the target chooses. */
struct stack_identity {
	uint64_t first, second;
};

/* Numbers for the modules of one process of a snapshot, valid for the whole run. */
struct identity_process {
	uint32_t *modules; /* by module; NULL: not computed yet */
};

/* Makes identities that can be compared for the whole run. */
struct stack_identities {
	struct string_table texts; /* keys of files and allocators: kind, then names */
	uint64_t points[2];
	/* Of the current snapshot. */
	const struct snapshot *snap;
	struct identity_process *processes;
	VEC(uint32_t) allocators;
};

void stack_identities_init(struct stack_identities *ids);
void stack_identities_deinit(struct stack_identities *ids);

/* Use the stacks of `snap` until stack_identities_end(). False when out of memory. */
bool stack_identities_begin(struct stack_identities *ids, const struct snapshot *snap)
	__attribute__((warn_unused_result));
void stack_identities_end(struct stack_identities *ids);

/* The identity of a stack of that snapshot; its process must be in the snapshot. Frames
 * out of range are ignored. False when out of memory. */
bool stack_identities_get(struct stack_identities *ids,
			  const struct snapshot_stack *stack, struct stack_identity *ret)
	__attribute__((warn_unused_result));

#endif
