// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "report/aggregate.h"
#include "report/build.h"
#include "util/cleanup.h"

/* The largest blocks so far: a heap of at most `room`, with the smallest block on top. */
struct best {
	const struct snapshot_block **blocks;
	size_t count, room;
};

static int compare_places(const void *pa, const void *pb)
{
	return block_compare(*(const struct snapshot_block *const *)pa,
			     *(const struct snapshot_block *const *)pb);
}

static void swap(struct best *best, size_t a, size_t b)
{
	const struct snapshot_block *block = best->blocks[a];

	best->blocks[a] = best->blocks[b];
	best->blocks[b] = block;
}

static void sink(struct best *best)
{
	size_t at = 0;

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= best->count)
			return;
		if (child + 1 < best->count &&
		    block_compare(best->blocks[child + 1], best->blocks[child]) > 0)
			child++;
		if (block_compare(best->blocks[child], best->blocks[at]) <= 0)
			return;
		swap(best, at, child);
		at = child;
	}
}

static void offer(struct best *best, const struct snapshot_block *block)
{
	if (best->count == best->room) {
		if (block_compare(block, best->blocks[0]) < 0) {
			best->blocks[0] = block;
			sink(best);
		}
		return;
	}

	size_t at = best->count++;

	best->blocks[at] = block;
	while (at && block_compare(best->blocks[at], best->blocks[(at - 1) / 2]) > 0) {
		swap(best, at, (at - 1) / 2);
		at = (at - 1) / 2;
	}
}

static struct error *choose(struct builder *b, const struct report_section *section,
			    struct best *best)
{
	size_t stacks = b->snap->stacks.len;
	_cleanup_(freep) signed char *shown = calloc(stacks + 1, sizeof(*shown));

	if (!shown)
		return error_no_memory();
	vec_foreach (block, &b->snap->blocks[section->class]) {
		uint32_t stack = block_stack(b->snap, block);
		size_t slot = stack == SNAPSHOT_NO_STACK ? stacks : stack;

		if (!block_is_listed(b->snap, b->options, block))
			continue;
		if (!shown[slot]) {
			enum filter_verdict verdict;
			struct error *err = report_judge(b, stack, &verdict);

			if (err)
				return err;
			shown[slot] = verdict == FILTER_SHOWN ? 1 : -1;
		}
		if (shown[slot] > 0)
			offer(best, block);
	}
	return NULL;
}

/* Blocks with the same stack share a row. */
static struct error *name(struct builder *b, const struct best *best,
			  struct report_single *ret)
{
	size_t stacks = b->snap->stacks.len;
	_cleanup_(freep) struct report_row **rows = calloc(stacks + 1, sizeof(*rows));

	if (!rows)
		return error_no_memory();
	for (size_t i = 0; i < best->count; i++) {
		uint32_t stack = block_stack(b->snap, best->blocks[i]);
		struct report_row **row =
			&rows[stack == SNAPSHOT_NO_STACK ? stacks : stack];

		if (!*row) {
			*row = report_arena_alloc(b->arena, 1, sizeof(**row));
			if (!*row)
				return error_no_memory();
			(*row)->stack = stack;
			(*row)->end = STACK_END_UNREADABLE;

			struct error *err = frame_namer_fill(&b->namer, *row);

			if (err)
				return err;
		}
		ret[i] = (struct report_single){
			.block = best->blocks[i],
			.process = report_is_of_one(b->report)
					   ? (*row)->process
					   : snapshot_process(b->snap,
							      best->blocks[i]->process),
			.row = *row,
		};
	}
	return NULL;
}

struct error *report_singles_build(struct builder *b, struct report_section *section)
{
	size_t count = b->snap->blocks[section->class].len;
	struct best best = {.room = count};
	struct report_single *singles;
	struct error *err;

	if (b->options->singles < best.room)
		best.room = (size_t)b->options->singles;
	_cleanup_(freep) const struct snapshot_block **blocks =
		calloc(best.room + 1, sizeof(*blocks));

	if (!blocks)
		return error_no_memory();
	if (!count)
		return NULL;
	best.blocks = blocks;
	err = choose(b, section, &best);
	if (err)
		return err;
	qsort(best.blocks, best.count, sizeof(*best.blocks), compare_places);
	singles = report_arena_alloc(b->arena, best.count, sizeof(*singles));
	if (!singles)
		return error_no_memory();
	section->singles = singles;
	section->single_count = best.count;
	return name(b, &best, singles);
}
