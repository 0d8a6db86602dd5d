/* SPDX-License-Identifier: Apache-2.0 */
/* Which stacks are the same call path (merge.h). Private to snapshot/. */
#ifndef SNAPSHOT_STACK_IDENTITY_H
#define SNAPSHOT_STACK_IDENTITY_H

#include <stdbool.h>

#include "snapshot/snapshot.h"
#include "util/hashmap.h"

/* What a stack is known by: two polynomials over all that identifies it, modulo
 * 2^61 - 1, at two secret points. Two different stacks agree in both with a probability
 * below 2^-100, whatever the target chooses. */
struct stack_identity {
	uint64_t first, second;
};

/* The files and allocators of one snapshot, as numbers that hold for the run. */
struct identity_process {
	uint32_t *modules; /* by module; NULL: not asked for yet */
};

/* Makes identities that can be compared for the whole run. */
struct stack_identities {
	struct string_table texts; /* of files and allocators, each with its kind first */
	uint64_t points[2];
	/* Of the snapshot that is looked at. */
	const struct snapshot *snap;
	struct identity_process *processes;
	VEC(uint32_t) allocators;
};

void stack_identities_init(struct stack_identities *ids);
void stack_identities_deinit(struct stack_identities *ids);

/* Look at the stacks of `snap` from here on, until the end. False when memory is out. */
bool stack_identities_begin(struct stack_identities *ids, const struct snapshot *snap)
	__attribute__((warn_unused_result));
void stack_identities_end(struct stack_identities *ids);

/* The identity of a stack of that snapshot, whose process is there. Frames out of range
 * count as none. False when memory is out. */
bool stack_identities_get(struct stack_identities *ids,
			  const struct snapshot_stack *stack, struct stack_identity *ret)
	__attribute__((warn_unused_result));

#endif
