/* SPDX-License-Identifier: Apache-2.0 */
/* Finds which processes hold the blocks of a call path. Private to report/. */
#ifndef REPORT_HOLDERS_H
#define REPORT_HOLDERS_H

#include "report/build.h"

struct holders {
	const struct builder *b; /* borrowed */
	/* Indexed by process of the snapshot; the last element is for unknown processes.
	 * NULL in a report of one process, which needs none of this. */
	double *sizes, *counts;
	uint32_t *touched; /* indices of the row's processes so far */
	size_t touched_count;
};

/* The caller calls holders_deinit() on `ret`, also after an error. */
struct error *holders_init(struct holders *ret, const struct builder *b)
	__attribute__((warn_unused_result));
void holders_deinit(struct holders *holders);

/* Add `count` blocks of a process (an index, or SNAPSHOT_NO_PROCESS), `size_bytes` in
 * total. */
void holders_add(struct holders *holders, uint32_t process, double size_bytes,
		 double count);

/* Fill the processes of `row`, and reset for the next row. */
struct error *holders_finish(struct holders *holders, struct report_row *row)
	__attribute__((warn_unused_result));

#endif
