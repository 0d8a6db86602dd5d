/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timeline of a run: data of its snapshots in order. Each new snapshot gets its
 * moments and the trends of its call paths from it.
 */
#ifndef SNAPSHOT_TIMELINE_H
#define SNAPSHOT_TIMELINE_H

#include "snapshot/snapshot.h"
#include "util/error.h"

/* The maximum number of moments. When it is reached, every other moment of the older
 * half is dropped, but not the first one. */
#define TIMELINE_MOMENTS 512

struct timeline;

struct timeline *timeline_create(void); /* NULL when out of memory */
void timeline_destroy(struct timeline *timeline);

/*
 * Add a snapshot, and fill its moments and trends. It must be later than all snapshots
 * before it and use the same numbers for stacks. Takes time linear in its blocks and
 * stacks. On failure (out of memory) the timeline may lack the snapshot's moment or
 * trends.
 */
struct error *timeline_add(struct timeline *timeline, struct snapshot *snap)
	__attribute__((warn_unused_result));

/* Fill the moments and trends of a snapshot as timeline_add() would, without adding it to
 * the timeline: later snapshots do not depend on it. */
struct error *timeline_show(struct timeline *timeline, struct snapshot *snap)
	__attribute__((warn_unused_result));

#endif
