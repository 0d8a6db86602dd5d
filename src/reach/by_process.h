/* SPDX-License-Identifier: Apache-2.0 */
/* The heap blocks of a snapshot by process: a search of many processes does not go
 * through all blocks for each of them. */
#ifndef REACH_BY_PROCESS_H
#define REACH_BY_PROCESS_H

#include <stddef.h>
#include <stdint.h>

#include "snapshot/snapshot.h"
#include "util/error.h"

struct reach_by_process {
	/* Indices into snap->blocks[BLOCK_HEAP]: first all blocks of the first process,
	 * then all of the second one, and so on. The blocks of a process have the order
	 * of the snapshot. */
	uint32_t *numbers;
	/* first[p]: where the blocks of process p begin in `numbers`. One more element
	 * says where the last blocks end. */
	uint32_t *first;
};

/* Blocks that belong to no process of the snapshot are left out. Owner: the caller,
 * reach_by_process_deinit(). */
struct error *reach_by_process_init(const struct snapshot *snap,
				    struct reach_by_process *ret)
	__attribute__((warn_unused_result));
void reach_by_process_deinit(struct reach_by_process *index);

/* The blocks of one process of the snapshot. The caller may reorder them. */
static inline uint32_t *reach_by_process_get(const struct reach_by_process *index,
					     uint32_t process, uint32_t *ret_count)
{
	*ret_count = index->first[process + 1] - index->first[process];
	return index->numbers + index->first[process];
}

#endif
