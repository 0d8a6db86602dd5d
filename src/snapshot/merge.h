/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call path of many processes: stacks that lead through the same places in the same
 * files are the same call path, wherever each process has mapped these files.
 *
 * A stack is identified by the function called (the allocator's label and file), by why
 * its walk ended and by its frames. A frame in a file is known by the file and the offset
 * in it; a file by its build-id, or else by its path. A frame in code of no file (JIT
 * code, deleted and anonymous mappings) is known by its process and its address, and one
 * of the kernel by its address.
 */
#ifndef SNAPSHOT_MERGE_H
#define SNAPSHOT_MERGE_H

#include <stdbool.h>

#include "snapshot/snapshot.h"

/* Which stacks of a run are shown as one. Decided once for each, when its process is
 * known first, and kept: a number means the same call path for the whole run. */
struct snapshot_merge;

struct snapshot_merge *snapshot_merge_create(void); /* NULL when memory is out */
void snapshot_merge_destroy(struct snapshot_merge *merge);

/* A snapshot as it is to be reported. Not to be copied: `snap` may point into it. */
struct snapshot_made {
	struct snapshot *snap; /* the one it was made of, or `view`; borrowed */
	struct snapshot view;
	struct snapshot_merge *merge; /* destroyed with it; NULL: it outlives it */
};

/*
 * Show stacks of equal identity as one. `snap` is the next snapshot of a run: it numbers
 * its stacks as those before did, and has new ones at the end.
 *
 * In ret->snap, blocks and events lead to the stack that stands for all (by
 * snapshot_stack_index()), which keeps the number of the first of them; the others are
 * empty. Its frames and its process are those of a member whose process is in this
 * snapshot, of one that lives if there is one, so that the frames have names. All other
 * stacks, and everything else, are those of `snap`: its own when all its processes so far
 * were one.
 *
 * Traffic, lifetimes, sizes and what the report before held are summed. Two things have
 * no sum:
 *  - A peak is the highest that is known to have been outstanding at once: the highest of
 *    any member, or what all held together when a snapshot was taken. The true one may
 *    be higher.
 *  - The trend of several is made of theirs (snap->has_trends: from a file): slopes, rise
 *    and fall are summed, R^2 is the lowest of any that held something, all else the
 *    highest. A run adds its own trends afterwards (course.h), which are exact.
 *
 * Linear in stacks, their frames and modules, and not at all in blocks. With `keep`,
 * `snap` stays as it is; else it may only be destroyed, after snapshot_made_deinit().
 * False when memory is out: then `ret` is to be deinited all the same.
 */
bool snapshot_merge(struct snapshot_merge *merge, struct snapshot *snap, bool keep,
		    struct snapshot_made *ret) __attribute__((warn_unused_result));

/*
 * The opposite: show a stack that holds blocks of several processes (which share their
 * address-space layout) as one for each of them. The new ones are behind all others, with
 * numbers that hold for this snapshot only. Blocks alone are told apart: traffic,
 * lifetimes, trends, and what the report before held, stay with the stack's own process.
 * Linear in blocks. `keep` and the result are as above.
 */
bool snapshot_split(struct snapshot *snap, bool keep, struct snapshot_made *ret)
	__attribute__((warn_unused_result));

void snapshot_made_deinit(struct snapshot_made *made);

#endif
