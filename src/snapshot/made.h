/* SPDX-License-Identifier: Apache-2.0 */
/* Making a changed view of a snapshot. The view shares all vectors with it that were not
 * copied. Private to snapshot/. */
#ifndef SNAPSHOT_MADE_H
#define SNAPSHOT_MADE_H

#include "snapshot/merge.h"

/* Begin with made->snap == snap: nothing is changed or copied yet. */
void made_init(struct snapshot_made *made, struct snapshot *snap);

/* From here on it is made->view, which shares everything with the snapshot. What shares
 * its data belongs to that; any other is freed with the view. */
void made_begin(struct snapshot_made *made);

bool made_copy_(void **data, size_t *len, size_t *cap, size_t bytes);

/* Give the view its own copy of a vector that it shares. On failure the vector is empty.
 */
#define MADE_COPY(made, member)                                                          \
	made_copy_((void **)&(made)->view.member.data, &(made)->view.member.len,         \
		   &(made)->view.member.cap, sizeof(*(made)->view.member.data))

bool made_zeroed_(void **data, size_t *len, size_t *cap, size_t count, size_t bytes);

/* Fill an empty vector with zeroed elements. */
#define MADE_ZEROED(v, count)                                                            \
	made_zeroed_((void **)&(v)->data, &(v)->len, &(v)->cap, (count),                 \
		     sizeof(*(v)->data))

#endif
