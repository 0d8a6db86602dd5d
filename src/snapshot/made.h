/* SPDX-License-Identifier: Apache-2.0 */
/* A changed view of a snapshot, which shares all vectors that are not copied. */
#ifndef SNAPSHOT_MADE_H
#define SNAPSHOT_MADE_H

#include <stdbool.h>
#include <stddef.h>

#include "snapshot/snapshot.h"

/* A snapshot prepared for a report. Do not copy it: `snap` may point into it. */
struct snapshot_made {
	struct snapshot *snap; /* the original snapshot, or `view`; borrowed */
	struct snapshot view;
};

void snapshot_made_deinit(struct snapshot_made *made);

/* The rest is private to snapshot/. Begin with made->snap == snap: nothing is changed
 * or copied. */
void made_init(struct snapshot_made *made, struct snapshot *snap);

/* Make made->snap point to made->view, which shares all data with the snapshot. Vectors
 * that are later copied belong to the view, and are freed with it. */
void made_begin(struct snapshot_made *made);

bool made_copy_(void **data, size_t *len, size_t *cap, size_t bytes);

/* Give the view its own copy of a shared vector. On failure the vector is empty. */
#define MADE_COPY(made, member)                                                          \
	made_copy_((void **)&(made)->view.member.data, &(made)->view.member.len,         \
		   &(made)->view.member.cap, sizeof(*(made)->view.member.data))

bool made_zeroed_(void **data, size_t *len, size_t *cap, size_t count, size_t bytes);

/* Fill an empty vector with zeroed elements. */
#define MADE_ZEROED(v, count)                                                            \
	made_zeroed_((void **)&(v)->data, &(v)->len, &(v)->cap, (count),                 \
		     sizeof(*(v)->data))

#endif
