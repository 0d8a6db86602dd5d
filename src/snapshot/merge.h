/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merges call paths of several processes: stacks that lead through the same places in
 * the same files are the same call path, at whatever addresses each process has mapped
 * these files.
 *
 * A stack is identified by the allocation function's label and file, by the reason why
 * unwinding ended, and by its frames. A frame in a file is identified by the file and
 * the offset in it; a file by its build-id, or else by its path. A frame in code
 * outside files (JIT code, deleted and anonymous mappings) is identified by its process
 * and address, and a frame of the kernel by its address.
 */
#ifndef SNAPSHOT_MERGE_H
#define SNAPSHOT_MERGE_H

#include "snapshot/made.h"

/* Records which stacks of a run are shown as one. This is decided for each stack when
 * its process is first known, and then kept: a number means the same call path for the
 * whole run. */
struct snapshot_merge;

struct snapshot_merge *snapshot_merge_create(void); /* NULL when out of memory */
void snapshot_merge_destroy(struct snapshot_merge *merge);

/*
 * Show stacks of equal identity as one. `snap` is the next snapshot of a run: it uses the
 * same numbers for stacks as the snapshots before, and has new stacks at the end.
 *
 * In ret->snap, snapshot_stack_index() maps blocks and events to the stack that stands
 * for all equal stacks: the first of them, which keeps its number. The other stacks are
 * empty. The stack shows the frames and the process of a member whose process is in this
 * snapshot, preferably a running one, so that the frames have names. All other stacks and
 * data are the same as in `snap`. If the run has had only one process, ret->snap is
 * `snap` itself.
 *
 * Traffic, lifetimes, sizes and data of the previous report are summed. Two things cannot
 * be summed:
 *  - A peak is the highest value known to have been live at once: the highest peak of any
 *    member, or the sum of all members at a snapshot. The true peak may be higher.
 *  - A merged trend (snap->has_trends: from a file) is made from the members' trends:
 * slope, rise and fall are summed, R^2 is the lowest of any member that held something,
 * and other fields are the highest. A run adds its own trends afterwards (timeline.h),
 * which are exact.
 *
 * Takes time linear in stacks, their frames and modules, and independent of blocks. With
 * `keep`, `snap` is unchanged; otherwise it may only be destroyed, after
 * snapshot_made_deinit(). False when out of memory: `ret` must be deinited even then.
 */
bool snapshot_merge(struct snapshot_merge *merge, struct snapshot *snap, bool keep,
		    struct snapshot_made *ret) __attribute__((warn_unused_result));

/*
 * The opposite: a stack that holds blocks of several processes (which share their
 * address-space layout) is shown as one stack for each process. The new stacks come
 * after all others, and their numbers are valid for this snapshot only. Only blocks are
 * split: traffic, lifetimes, trends and data of the previous report stay with the
 * stack's own process. Takes time linear in blocks. `keep` and the result are as above.
 */
bool snapshot_split(struct snapshot *snap, bool keep, struct snapshot_made *ret)
	__attribute__((warn_unused_result));

#endif
