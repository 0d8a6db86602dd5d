/* SPDX-License-Identifier: Apache-2.0 */
/* Sums blocks by the thread that allocated them. Private to report/. */
#ifndef REPORT_SHARES_H
#define REPORT_SHARES_H

#include "report/arena.h"
#include "report/row.h"
#include "util/hashmap.h"
#include "util/vec.h"

struct share {
	uint32_t tid;
	double size_bytes, count;
};

struct shares {
	VEC(struct share) list;
	struct hashmap places; /* tid -> index into `list` */
	size_t last;           /* index of the last share added to */
};

void shares_init(struct shares *shares);
void shares_deinit(struct shares *shares);

/* Add one block, which stands for `weight` blocks. Returns false if memory is out. */
bool shares_add(struct shares *shares, const struct snapshot_block *block, double weight)
	__attribute__((warn_unused_result));

/* Fill the threads of `row`, and reset for the next row. */
struct error *shares_finish(struct shares *shares, struct report_arena *arena,
			    struct report_row *row) __attribute__((warn_unused_result));

#endif
