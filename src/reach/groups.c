// SPDX-License-Identifier: Apache-2.0
#include "reach/groups.h"

#include <stdlib.h>

#include "util/cleanup.h"

/* The head that stands above `block` in the end. Shortens the way there. */
static uint32_t find_head(uint32_t head[], uint32_t block)
{
	while (head[block] != block) {
		head[block] = head[head[block]];
		block = head[block];
	}
	return block;
}

/*
 * Put all lost blocks that `first` leads to into its group. Blocks that are `done` were
 * followed before: those among them that are heads become members, and with them their
 * groups.
 */
static void gather(uint32_t first, struct reach_marks *found, struct reach_memory *memory,
		   const uint8_t lost[], uint8_t done[], uint32_t head[])
{
	size_t from = 0;

	/* `todo` is the list of all blocks that were found, each once: `level` says which
	 * were. */
	found->todo.len = 0;
	found->level[first] = REACH_REACHED;
	done[first] = 1;
	reach_memory_scan_block(memory, found, first, REACH_REACHED);
	while (from < found->todo.len && !found->no_memory) {
		uint32_t block = found->todo.data[from++];

		if (!lost[block])
			continue;
		if (find_head(head, block) == block && block != first)
			head[block] = first;
		if (done[block])
			continue;
		done[block] = 1;
		reach_memory_scan_block(memory, found, block, REACH_REACHED);
	}
	/* A block that was found once may be found again from another head. */
	found->level[first] = REACH_UNREACHED;
	for (size_t i = 0; i < found->todo.len; i++)
		found->level[found->todo.data[i]] = REACH_UNREACHED;
}

struct error *reach_groups_init(const struct reach_marks *marks,
				struct reach_memory *memory, struct reach_groups *ret)
{
	uint32_t count = marks->blocks->count;
	_cleanup_(reach_marks_deinit) struct reach_marks found = {0};
	_cleanup_(freep) uint8_t *lost = calloc(count + 1ul, 1);
	_cleanup_(freep) uint8_t *done = calloc(count + 1ul, 1);
	struct error *err = reach_marks_init(marks->blocks, &marks->words, &found);

	ret->head = malloc((count + 1ul) * sizeof(*ret->head));
	if (!err && (!lost || !done || !ret->head))
		err = error_no_memory();
	for (uint32_t i = 0; !err && i < count; i++) {
		lost[i] = marks->level[i] == REACH_UNREACHED;
		ret->head[i] = lost[i] ? i : REACH_NONE;
	}
	for (uint32_t i = 0; !err && i < count && !found.no_memory; i++)
		if (lost[i] && !done[i])
			gather(i, &found, memory, lost, done, ret->head);
	if (!err && found.no_memory)
		err = error_no_memory();
	for (uint32_t i = 0; !err && i < count; i++)
		if (lost[i])
			ret->head[i] = find_head(ret->head, i);
	if (err)
		reach_groups_deinit(ret);
	return err;
}

void reach_groups_deinit(struct reach_groups *groups)
{
	free(groups->head);
	groups->head = NULL;
}
