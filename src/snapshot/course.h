/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The course of a run: what its snapshots held, one after the other. From it each new one
 * gets its moments and the trends of its call paths.
 */
#ifndef SNAPSHOT_COURSE_H
#define SNAPSHOT_COURSE_H

#include "snapshot/snapshot.h"
#include "util/error.h"

/* Moments that are kept at most: when there are as many, of the older half every other
 * one goes. The first one stays. */
#define COURSE_MOMENTS 512

struct course;

struct course *course_create(void); /* NULL when memory is out */
void course_destroy(struct course *course);

/*
 * Add a snapshot, which is later than those before and numbers its stacks as they do, and
 * fill its moments and trends. Linear in its blocks and stacks. When it fails (out of
 * memory) the course may lack the snapshot's moment or trends.
 */
struct error *course_add(struct course *course, struct snapshot *snap)
	__attribute__((warn_unused_result));

#endif
