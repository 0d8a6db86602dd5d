/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes hold what a call path holds. Private to report/. */
#ifndef REPORT_HOLDERS_H
#define REPORT_HOLDERS_H

#include "report/build.h"

struct holders {
	const struct builder *b; /* borrowed */
	/* By process of the snapshot, and last of those that are not known; NULL in a
	 * report of one process, which needs none of this. */
	double *sizes, *counts;
	uint32_t *touched; /* the processes that the row has so far */
	size_t touched_count;
};

/* `ret` is the caller's to deinit, also after an error. */
struct error *holders_init(struct holders *ret, const struct builder *b)
	__attribute__((warn_unused_result));
void holders_deinit(struct holders *holders);

/* Add what `count` blocks of a process (an index, or SNAPSHOT_NO_PROCESS) hold. */
void holders_add(struct holders *holders, uint32_t process, double size_bytes,
		 double count);

/* Fill the processes of `row`, and begin anew. */
struct error *holders_finish(struct holders *holders, struct report_row *row)
	__attribute__((warn_unused_result));

#endif
