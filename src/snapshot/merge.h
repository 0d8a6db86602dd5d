/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merges call paths of several processes: stacks that lead through the same places in the
 * same files are the same call path, at whatever addresses each process has mapped these
 * files. docs/mechanisms.md, "Call paths of several processes", says what identifies a
 * stack.
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
 * Show stacks of equal identity as one, in ret->snap: docs/mechanisms.md, "Call paths of
 * several processes". `snap` is the next snapshot of a run, with the numbers of stacks of
 * those before. With `keep`, `snap` is unchanged; otherwise it may only be destroyed,
 * after snapshot_made_deinit(). Takes time linear in stacks, frames and modules, not
 * blocks. False when out of memory: `ret` must be deinited even then.
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
