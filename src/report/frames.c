// SPDX-License-Identifier: Apache-2.0
#include "report/frames.h"

#include <stdlib.h>

/* What is shown for one address: the functions inlined there, then the one itself. */
struct frame_group {
	const struct report_frame *frames; /* NULL: not asked for yet */
	size_t count;
};

/* The frames of one process, by frame.index of its cache. */
struct process_frames {
	VEC(struct frame_group) groups;
};

struct error *frame_namer_init(struct frame_namer *n, const struct snapshot *snap,
			       struct frame_cache *const caches[],
			       struct report_arena *arena)
{
	*n = (struct frame_namer){.snap = snap, .caches = caches, .arena = arena};
	/* One more, as calloc(0) may give NULL. */
	n->processes = calloc(snap->processes.len + 1, sizeof(*n->processes));
	return n->processes ? NULL : error_no_memory();
}

void frame_namer_deinit(struct frame_namer *n)
{
	for (size_t i = 0; n->processes && i < n->snap->processes.len; i++)
		vec_deinit(&n->processes[i].groups);
	free(n->processes);
}

/* `named` is NULL for code of a process that has no cache. */
static void fill_frame(struct frame_namer *n, uint32_t process, uint64_t address,
		       const struct frame *named, const struct source_frame *source,
		       struct report_frame *ret)
{
	/* The last byte of the call: there addr2line finds the call's line. */
	uint64_t call = address ? address - 1 : 0;
	const struct snapshot_process *owner = snapshot_process(n->snap, process);
	const struct snapshot_module *module =
		owner ? snapshot_find_module(owner, call) : NULL;

	*ret = (struct report_frame){
		.address = call,
		.symbol = named ? named->symbol : NULL,
		.module = named ? named->module : NULL,
		.offset = named && named->offset ? named->offset - 1 : 0,
		.build_id = module ? module->build_id : NULL,
		.index = n->frame_count++,
	};
	/* What the mapping tells is better than nothing. */
	if (!named && module) {
		ret->module = module->path;
		ret->offset = call - module->start + module->file_offset;
	}
	if (!source)
		return;
	ret->file = source->file;
	ret->line = source->line;
	ret->column = source->column;
	ret->inlined = source->inlined;
	if (source->inlined) {
		ret->symbol = source->function;
		ret->offset = 0;
	}
}

static struct error *make_group(struct frame_namer *n, uint32_t process, uint64_t address,
				const struct frame *named, struct frame_group *ret)
{
	size_t sources = named ? named->sources.list.len : 0;
	size_t count = sources ? sources : 1;
	struct report_frame *made = report_arena_alloc(n->arena, count, sizeof(*made));

	if (!made)
		return error_no_memory();
	for (size_t i = 0; i < count; i++)
		fill_frame(n, process, address, named,
			   sources ? &named->sources.list.data[i] : NULL, &made[i]);
	*ret = (struct frame_group){made, count};
	return NULL;
}

static struct error *get_frames(struct frame_namer *n, uint32_t process, uint64_t address,
				struct frame_group *ret)
{
	const struct frame *frame;

	if (process >= n->snap->processes.len || !n->caches[process])
		return make_group(n, process, address, NULL, ret);

	struct process_frames *known = &n->processes[process];
	struct error *err = frame_cache_get(n->caches[process], address, &frame);

	if (err)
		return err;
	while (known->groups.len <= frame->index) {
		if (!vec_push(&known->groups, (struct frame_group){.count = 0}))
			return error_no_memory();
	}

	struct frame_group *group = &known->groups.data[frame->index];

	if (!group->frames)
		err = make_group(n, process, address, frame, group);
	*ret = *group;
	return err;
}

struct error *frame_namer_fill(struct frame_namer *n, struct report_row *row)
{
	if (row->stack == SNAPSHOT_NO_STACK)
		return NULL;

	const struct snapshot_stack *stack = &n->snap->stacks.data[row->stack];

	row->process = snapshot_process(n->snap, stack->process);
	if (stack->allocator < n->snap->allocators.len)
		row->allocator = &n->snap->allocators.data[stack->allocator];
	if (stack->first_frame > n->snap->frames.len ||
	    stack->depth > n->snap->frames.len - stack->first_frame)
		return NULL;
	row->end = stack->end < STACK_END_COUNT ? stack->end : STACK_END_UNREADABLE;

	struct frame_group group;
	size_t depth = 0;

	/* Once to count and once to fill: the second time all are known. */
	for (size_t i = 0; i < stack->depth; i++) {
		uint64_t address = n->snap->frames.data[stack->first_frame + i];
		struct error *err = get_frames(n, stack->process, address, &group);

		if (err)
			return err;
		depth += group.count;
	}

	const struct report_frame **frames =
		report_arena_alloc(n->arena, depth, sizeof(struct report_frame *));

	if (!frames)
		return error_no_memory();
	for (size_t i = 0; i < stack->depth; i++) {
		uint64_t address = n->snap->frames.data[stack->first_frame + i];
		struct error *err = get_frames(n, stack->process, address, &group);

		if (err)
			return err;
		for (size_t j = 0; j < group.count; j++)
			frames[row->depth++] = &group.frames[j];
	}
	row->frames = frames;
	return NULL;
}
