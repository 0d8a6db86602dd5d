// SPDX-License-Identifier: Apache-2.0
#include "report/frames.h"

#include <stdlib.h>

#include "frames/filter.h"
#include "util/hashmap.h"

/* The frames of one process that are known so far. */
struct process_frames {
	struct hashmap by_address; /* return address -> index into `groups` */
	VEC(struct frame_group) groups;
};

struct error *frame_namer_init(struct frame_namer *n, const struct snapshot *snap,
			       struct frame_cache *const caches[],
			       const struct report_options *options,
			       struct report_arena *arena)
{
	*n = (struct frame_namer){
		.snap = snap,
		.filter = options->filter,
		.known = options->known,
		.arena = arena,
		.frame_count = options->known ? options->known->frame_count : 0,
	};
	/* One more, for stacks of unknown processes. */
	n->processes = calloc(snap->processes.len + 1, sizeof(*n->processes));
	if (!n->processes)
		return error_no_memory();

	/* The target chooses the addresses. */
	uint64_t seed = hashmap_seed();

	for (size_t i = 0; i <= snap->processes.len; i++)
		hashmap_init(&n->processes[i].by_address, seed);
	lenders_init(&n->lenders, snap, caches);
	return NULL;
}

void frame_namer_deinit(struct frame_namer *n)
{
	for (size_t i = 0; n->processes && i <= n->snap->processes.len; i++) {
		hashmap_deinit(&n->processes[i].by_address);
		vec_deinit(&n->processes[i].groups);
	}
	free(n->processes);
	lenders_deinit(&n->lenders);
	vec_deinit(&n->passing);
}

/* The location of one call of a stack. */
struct place {
	uint64_t call; /* last byte of the call: there addr2line finds the line of the
			  call */
	const struct snapshot_module *module; /* NULL: not in any module */
};

static struct place find_place(const struct snapshot *snap, uint32_t process,
			       uint64_t address)
{
	const struct snapshot_process *owner = snapshot_process(snap, process);
	struct place ret = {.call = address ? address - 1 : 0};

	ret.module = owner ? snapshot_find_module(owner, ret.call) : NULL;
	return ret;
}

static void fill_frame(const struct place *place, const struct frame *named,
		       const struct source_frame *source, struct report_frame *ret)
{
	const struct snapshot_module *module = place->module;

	*ret = (struct report_frame){
		.address = place->call,
		.symbol = named ? named->symbol : NULL,
		.module = named ? named->module : NULL,
		.offset = named && named->offset ? named->offset - 1 : 0,
		.build_id = module ? module->build_id : NULL,
	};
	/* Fall back to the mapping's path. A function that only the debug information
	 * names has no module of its own either. */
	if (module && !ret->module)
		ret->module = module->path;
	if (module && !frame_is_known(named))
		ret->offset = place->call - module->start + module->file_offset;
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
				struct frame_group *ret)
{
	const struct place place = find_place(n->snap, process, address);
	const struct frame *named;
	struct error *err = lenders_name(&n->lenders, process, address, &named);

	if (err)
		return err;

	size_t sources = named ? named->sources.list.len : 0;
	size_t count = sources ? sources : 1;
	struct report_frame *made = report_arena_alloc(n->arena, count, sizeof(*made));

	if (!made)
		return error_no_memory();
	*ret = (struct frame_group){.frames = made, .count = (uint32_t)count};
	for (size_t i = 0; i < count; i++) {
		fill_frame(&place, named, sources ? &named->sources.list.data[i] : NULL,
			   &made[i]);
		made[i].index = n->frame_count++;
		if (n->filter)
			ret->matches |= report_filter_match(n->filter, &made[i]);
	}
	return NULL;
}

static struct error *get_frames(struct frame_namer *n, uint32_t process, uint64_t address,
				struct frame_group *ret)
{
	size_t count = n->snap->processes.len;
	struct process_frames *known = &n->processes[process < count ? process : count];
	uint64_t index;

	if (hashmap_get(&known->by_address, address, &index)) {
		*ret = known->groups.data[index];
		return NULL;
	}

	struct error *err = make_group(n, process, address, ret);

	if (err)
		return err;
	index = known->groups.len;
	return vec_push(&known->groups, *ret) &&
			       hashmap_put(&known->by_address, address, index)
		       ? NULL
		       : error_no_memory();
}

/* Append the placeholder for missing frames: one frame shared by all stacks. */
static struct error *push_gap(struct frame_namer *n)
{
	if (!n->gap.count) {
		struct report_frame *made =
			report_arena_alloc(n->arena, 1, sizeof(*made));

		if (!made)
			return error_no_memory();
		*made = (struct report_frame){.symbol = REPORT_GAP_NAME,
					      .is_gap = true,
					      .index = n->frame_count++};
		n->gap = (struct frame_group){.frames = made, .count = 1};
	}
	return vec_push(&n->passing, n->gap) ? NULL : error_no_memory();
}

/* The return addresses of a stack. Returns their number; 0 if they are out of range. */
static size_t find_addresses(const struct snapshot *snap,
			     const struct snapshot_stack *stack, const uint64_t **ret)
{
	if (!stack->depth || stack->first_frame > snap->frames.len ||
	    stack->depth > snap->frames.len - stack->first_frame)
		return 0;
	*ret = snap->frames.data + stack->first_frame;
	return stack->depth;
}

void frame_namer_visit(const struct frame_namer *n,
		       void (*visit)(void *data, const struct report_frame *frame),
		       void *data)
{
	for (size_t i = 0; i <= n->snap->processes.len; i++)
		vec_foreach (group, &n->processes[i].groups)
			for (uint32_t k = 0; k < group->count; k++)
				visit(data, &group->frames[k]);
}

struct error *frame_namer_match(struct frame_namer *n, uint32_t index, unsigned *ret)
{
	const struct snapshot_stack *stack;
	const uint64_t *addresses = NULL;
	struct frame_group group;

	*ret = 0;
	if (!n->filter || index >= n->snap->stacks.len)
		return NULL;
	stack = &n->snap->stacks.data[index];
	for (size_t i = 0, depth = find_addresses(n->snap, stack, &addresses); i < depth;
	     i++) {
		struct error *err = get_frames(n, stack->process, addresses[i], &group);

		if (err)
			return err;
		*ret |= group.matches;
	}
	return NULL;
}

/* Take the frames that an earlier report has found. False: it has found none. */
static bool fill_known(const struct frame_namer *n, struct report_row *row)
{
	const struct report_known_stack *stack =
		n->known && row->stack < n->known->stack_count
			? &n->known->stacks[row->stack]
			: NULL;

	if (!stack || !stack->depth)
		return false;
	row->frames = stack->frames;
	row->depth = stack->depth;
	return true;
}

struct error *frame_namer_fill(struct frame_namer *n, struct report_row *row)
{
	if (row->stack == SNAPSHOT_NO_STACK)
		return NULL;

	const struct snapshot_stack *stack = &n->snap->stacks.data[row->stack];

	row->process = row->frames_of = snapshot_process(n->snap, stack->process);
	if (stack->allocator < n->snap->allocators.len)
		row->allocator = &n->snap->allocators.data[stack->allocator];

	const uint64_t *addresses = NULL;
	size_t address_count = find_addresses(n->snap, stack, &addresses);

	if (!address_count && stack->depth)
		return NULL;
	row->end = stack->end < STACK_END_COUNT ? stack->end : STACK_END_UNREADABLE;
	if (fill_known(n, row))
		return NULL;

	size_t depth = 0;

	n->passing.len = 0;
	for (size_t i = 0; i < address_count; i++) {
		struct frame_group group;
		struct error *err = NULL;

		if (i && i == stack->gap) {
			err = push_gap(n);
			depth++;
		}
		if (!err)
			err = get_frames(n, stack->process, addresses[i], &group);
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
