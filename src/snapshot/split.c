// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "snapshot/merge.h"
#include "util/hashmap.h"

/* The key of a stack for one process. */
static uint64_t key_of(uint32_t stack, uint32_t process)
{
	return (uint64_t)stack << 32 | process;
}

/* Does the block belong to another process than its stack? If the stack's process has
 * exited, each process with blocks gets a stack of its own, whose frames have names
 * again. */
static bool is_foreign(const struct snapshot *snap, const struct snapshot_block *block)
{
	return block->stack < snap->stacks.len && block->process < snap->processes.len &&
	       snap->stacks.data[block->stack].process != block->process;
}

static bool has_foreign(const struct snapshot *snap)
{
	for (size_t class = 0; class < BLOCK_CLASS_COUNT; class ++)
		vec_foreach (block, &snap->blocks[class])
			if (is_foreign(snap, block))
				return true;
	return false;
}

/* Find or add the stack for the block's process; false when out of memory. */
static bool find_stack(struct snapshot *view, struct hashmap *made,
		       const struct snapshot_block *block, uint32_t *ret)
{
	uint64_t key = key_of(block->stack, block->process), at = view->stacks.len;
	struct snapshot_stack stack = view->stacks.data[block->stack];

	/* Without free numbers the block keeps its stack. */
	*ret = block->stack;
	if (!hashmap_get(made, key, &at)) {
		if (at >= SNAPSHOT_NO_STACK)
			return true;
		stack.process = block->process;
		if (!vec_push(&view->stacks, stack) || !hashmap_put(made, key, at))
			return false;
	}
	*ret = (uint32_t)at;
	return true;
}

static bool split_class(struct snapshot *view, struct hashmap *made,
			const struct snapshot_block *from, size_t class)
{
	vec_foreach (block, &view->blocks[class]) {
		/* Compare with the original stacks, as `view` has new ones. */
		if (is_foreign(view->made_of, from) &&
		    !find_stack(view, made, from, &block->stack))
			return false;
		from++;
	}
	return true;
}

bool snapshot_split(struct snapshot *snap, bool keep, struct snapshot_made *ret)
{
	struct hashmap made;
	bool ok;

	made_init(ret, snap);
	if (!has_foreign(snap))
		return true;
	made_begin(ret);
	hashmap_init(&made, hashmap_seed());
	/* Copied in any case, since stacks are added. */
	ok = MADE_COPY(ret, stacks);
	for (size_t class = 0; ok && class < BLOCK_CLASS_COUNT; class ++) {
		ok = !keep || MADE_COPY(ret, blocks[class]);
		ok = ok &&
		     split_class(&ret->view, &made, snap->blocks[class].data, class);
	}
	hashmap_deinit(&made);
	return ok;
}
