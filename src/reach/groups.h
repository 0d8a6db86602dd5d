/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorts lost blocks into groups. Each group has one block as its head. A lost block that
 * another lost block points to is lost because of that one: if the program lost the head
 * of a list, it lost the rest with it. In a cycle the block with the lowest address is
 * the head. docs/unreachable.md has the words of other tools for both.
 */
#ifndef REACH_GROUPS_H
#define REACH_GROUPS_H

#include <stdint.h>

#include "reach/marks.h"
#include "reach/memory.h"
#include "util/error.h"

struct reach_groups {
	/* For each block that is REACH_UNREACHED: the head of its group, or itself.
	 * REACH_NONE for other blocks. */
	uint32_t *head;
};

/* Group the unreached blocks of `marks`, which is not changed. Reads their contents. The
 * process may run meanwhile: it has no pointer to these blocks, so it does not write to
 * them. Owner: the caller, reach_groups_deinit(). */
struct error *reach_groups_init(const struct reach_marks *marks,
				struct reach_memory *memory, struct reach_groups *ret)
	__attribute__((warn_unused_result));
void reach_groups_deinit(struct reach_groups *groups);

#endif
