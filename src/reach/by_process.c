// SPDX-License-Identifier: Apache-2.0
#include "reach/by_process.h"

#include <stdlib.h>

/* Set first[p + 1] to the number of blocks of the processes up to p. first[0] stays 0. */
static void count(const struct snapshot *snap, uint32_t first[])
{
	vec_foreach (block, &snap->blocks[BLOCK_HEAP])
		if (block->process < snap->processes.len)
			first[block->process + 1]++;
	for (size_t i = 0; i < snap->processes.len; i++)
		first[i + 1] += first[i];
}

/* Append each block to the list of its process. This moves first[p] to the end of the
 * list, so set it back afterwards. */
static void place(const struct snapshot *snap, struct reach_by_process *index)
{
	const struct snapshot_block *blocks = snap->blocks[BLOCK_HEAP].data;

	for (uint32_t i = 0; i < snap->blocks[BLOCK_HEAP].len; i++)
		if (blocks[i].process < snap->processes.len)
			index->numbers[index->first[blocks[i].process]++] = i;
	for (size_t i = snap->processes.len; i; i--)
		index->first[i] = index->first[i - 1];
	index->first[0] = 0;
}

struct error *reach_by_process_init(const struct snapshot *snap,
				    struct reach_by_process *ret)
{
	size_t blocks = snap->blocks[BLOCK_HEAP].len;

	*ret = (struct reach_by_process){.numbers = NULL};
	if (blocks >= UINT32_MAX)
		return error_no_memory();
	ret->first = calloc(snap->processes.len + 1, sizeof(*ret->first));
	ret->numbers = malloc((blocks + 1) * sizeof(*ret->numbers));
	if (!ret->first || !ret->numbers) {
		reach_by_process_deinit(ret);
		return error_no_memory();
	}
	count(snap, ret->first);
	place(snap, ret);
	return NULL;
}

void reach_by_process_deinit(struct reach_by_process *index)
{
	free(index->numbers);
	free(index->first);
	*index = (struct reach_by_process){.numbers = NULL};
}
