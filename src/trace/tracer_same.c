// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "trace/tracer_state.h"
#include "util/cleanup.h"

struct error *tracer_find_same(struct tracer *t, const uint32_t slots[],
			       const struct snapshot *snap, const uint32_t numbers[],
			       size_t count, bool is_there[])
{
	_cleanup_(freep) struct drain_known *known = calloc(count + 1, sizeof(*known));
	struct error *err;

	if (!known)
		return error_no_memory();
	for (size_t i = 0; i < count; i++) {
		const struct snapshot_block *block =
			&snap->blocks[BLOCK_HEAP].data[numbers[i]];

		known[i] = (struct drain_known){
			.key = ABI_KEY(slots[block->process], block->address),
			.size_bytes = block->size_bytes,
			.time_ns = block->time_ns,
			.tid = block->tid,
		};
	}
	err = drain_find_same(&t->maps, &t->source->sizes, t->control, &t->ticks,
			      snap->attached_ns, known, count);
	for (size_t i = 0; i < count; i++)
		is_there[i] = !err && known[i].is_there;
	return err;
}
