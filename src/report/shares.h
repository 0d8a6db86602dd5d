/* SPDX-License-Identifier: Apache-2.0 */
/* Who allocated what: blocks by thread. Private to report/. */
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
	struct hashmap places; /* in the list, by thread */
	size_t last;           /* place of the one that was added to last */
};

void shares_init(struct shares *shares);
void shares_deinit(struct shares *shares);

/* Add a block that stands for `weight` blocks; false when memory is out. */
bool shares_add(struct shares *shares, const struct snapshot_block *block, double weight)
	__attribute__((warn_unused_result));

/* Fill the threads of `row`, and begin anew. */
struct error *shares_finish(struct shares *shares, struct report_arena *arena,
			    struct report_row *row) __attribute__((warn_unused_result));

#endif
