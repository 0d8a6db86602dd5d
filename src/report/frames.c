// SPDX-License-Identifier: Apache-2.0
#include "report/frames.h"

#include <stdlib.h>

#include "report/filter.h"

/* What is shown for one address: the functions inlined there, then the one itself. */
struct frame_group {
	const struct report_frame *frames; /* NULL: not asked for yet */
	size_t count;
	unsigned matches; /* of the filter: a set of enum filter_match */
};

/* The frames of one process, by frame.index of its cache. */
struct process_frames {
	VEC(struct frame_group) groups;
};

struct error *frame_namer_init(struct frame_namer *n, const struct snapshot *snap,
			       struct frame_cache *const caches[],
			       const struct report_filter *filter,
			       struct report_arena *arena)
{
	*n = (struct frame_namer){
		.snap = snap, .caches = caches, .filter = filter, .arena = arena};
	/* One more, as calloc(0) may give NULL. */
	n->processes = calloc(snap->processes.len + 1, sizeof(*n->processes));
	return n->processes ? NULL : error_no_memory();
}

void frame_namer_deinit(struct frame_namer *n)
{
	for (size_t i = 0; n->processes && i < n->snap->processes.len; i++)
		vec_deinit(&n->processes[i].groups);
	free(n->processes);
	vec_deinit(&n->passing);
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
	*ret = (struct frame_group){.frames = made, .count = count};
	for (size_t i = 0; i < count; i++) {
		fill_frame(n, process, address, named,
			   sources ? &named->sources.list.data[i] : NULL, &made[i]);
		made[i].index = n->frame_count++;
		if (n->filter)
			ret->matches |= report_filter_match(n->filter, &made[i]);
	}
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
		if (!vec_push(&known->groups, (struct frame_group){.frames = NULL}))
			return error_no_memory();
	}

	struct frame_group *group = &known->groups.data[frame->index];

	if (!group->frames)
		err = make_group(n, process, address, frame, group);
	*ret = *group;
	return err;
}

/* The addresses of a stack; none of one that is out of range. */
static size_t find_addresses(const struct snapshot *snap,
			     const struct snapshot_stack *stack, const uint64_t **ret)
{
	if (!stack->depth || stack->first_frame > snap->frames.len ||
	    stack->depth > snap->frames.len - stack->first_frame)
		return 0;
	*ret = snap->frames.data + stack->first_frame;
	return stack->depth;
}

struct error *frame_namer_match(struct frame_namer *n, uint32_t index, unsigned *ret)
{
	const struct snapshot_stack *stack;
	const uint64_t *addresses = NULL;
	struct frame_group group;
	struct report_frame frame;

	*ret = 0;
	if (!n->filter || index >= n->snap->stacks.len)
		return NULL;
	stack = &n->snap->stacks.data[index];
	for (size_t i = 0, depth = find_addresses(n->snap, stack, &addresses); i < depth;
	     i++) {
		if (stack->process >= n->snap->processes.len ||
		    !n->caches[stack->process]) {
			/* Such frames are not kept: there is nothing to keep. */
			fill_frame(n, stack->process, addresses[i], NULL, NULL, &frame);
			*ret |= report_filter_match(n->filter, &frame);
			continue;
		}

		struct error *err = get_frames(n, stack->process, addresses[i], &group);

		if (err)
			return err;
		*ret |= group.matches;
	}
	return NULL;
}

struct error *frame_namer_fill(struct frame_namer *n, struct report_row *row)
{
	if (row->stack == SNAPSHOT_NO_STACK)
		return NULL;

	const struct snapshot_stack *stack = &n->snap->stacks.data[row->stack];

	row->process = snapshot_process(n->snap, stack->process);
	if (stack->allocator < n->snap->allocators.len)
		row->allocator = &n->snap->allocators.data[stack->allocator];

	const uint64_t *addresses = NULL;
	size_t address_count = find_addresses(n->snap, stack, &addresses);

	if (!address_count && stack->depth)
		return NULL;
	row->end = stack->end < STACK_END_COUNT ? stack->end : STACK_END_UNREADABLE;

	size_t depth = 0;

	n->passing.len = 0;
	for (size_t i = 0; i < address_count; i++) {
		struct frame_group group;
		struct error *err = get_frames(n, stack->process, addresses[i], &group);

		if (err)
			return err;
		if (!vec_push(&n->passing, group))
			return error_no_memory();
		depth += group.count;
	}

	const struct report_frame **frames =
		report_arena_alloc(n->arena, depth, sizeof(struct report_frame *));

	if (!frames)
		return error_no_memory();
	vec_foreach (group, &n->passing) {
		for (size_t i = 0; i < group->count; i++)
			frames[row->depth++] = &group->frames[i];
	}
	row->frames = frames;
	return NULL;
}
