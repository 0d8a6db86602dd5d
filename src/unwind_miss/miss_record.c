// SPDX-License-Identifier: Apache-2.0
#include "unwind_miss/miss_record.h"

#include "abi_walk.h"

/* True if the record is a whole stack; then *ret is set. */
static bool read_walked(struct miss_walker *w, const struct abi_walked *r, size_t size,
			struct miss_record *ret)
{
	if (size < ABI_WALKED_BYTES(0) || r->kind != ABI_MISS_WALKED ||
	    r->depth > w->max_depth || size < ABI_WALKED_BYTES(r->depth))
		return false;
	*ret = (struct miss_record){
		.number = r->number,
		.allocator = r->allocator,
		.has_stack = true,
		.stack = {.family = r->family,
			  .allocator = r->allocator,
			  .pcs = r->pc,
			  .depth = r->depth,
			  .gap = r->gap,
			  .end = r->end},
	};
	w->counts->unreadable += r->end == ABI_END_UNREADABLE;
	w->counts->truncated += r->end == ABI_END_DEPTH;
	return true;
}

bool miss_record_read(struct miss_walker *w, struct stack_pages *pages,
		      const void *record, size_t size, bool is_cut,
		      struct miss_record *ret)
{
	const struct stack_room *room;
	const struct abi_miss *m;

	if (read_walked(w, record, size, ret))
		return true;
	m = stack_pages_take(pages, record, size, &room);
	if (!m)
		return false;
	*ret = (struct miss_record){
		.number = m->number,
		.allocator = m->allocator,
		.has_stack = m->process < w->maps->sizes->process_slots,
	};
	if (ret->has_stack && is_cut)
		miss_walk_cut(w, m, room, &ret->stack);
	else if (ret->has_stack)
		miss_walk_end(w, m, room, &ret->stack);
	return true;
}
