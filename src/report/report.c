// SPDX-License-Identifier: Apache-2.0
#include "report/report.h"

#include <stdlib.h>

#include "report/aggregate.h"
#include "report/arena.h"
#include "report/history.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct report *, report_destroy);

/* What is shown for one address: the functions inlined there, then the one itself. */
struct frame_group {
	const struct report_frame *frames; /* NULL: not asked for yet */
	size_t count;
};

struct builder {
	const struct snapshot *snap;
	const struct report_options *options;
	const struct report_history *history;
	struct frame_cache *cache;
	struct report *report;
	struct report_arena *arena;                /* the report's */
	VEC(struct frame_group) groups;            /* by frame.index of the cache */
	struct stack_sums sums[BLOCK_CLASS_COUNT]; /* for the next report */
};

static void fill_frame(struct builder *b, const struct frame *frame,
		       const struct source_frame *source, struct report_frame *ret)
{
	/* The last byte of the call: there addr2line finds the call's line. */
	uint64_t call = frame->address ? frame->address - 1 : 0;
	const struct snapshot_module *module = snapshot_find_module(b->snap, call);

	*ret = (struct report_frame){
		.address = call,
		.symbol = frame->symbol,
		.offset = frame->offset ? frame->offset - 1 : 0,
		.module = frame->module,
		.build_id = module ? module->build_id : NULL,
		.index = b->report->frame_count++,
	};
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

static struct error *get_frames(struct builder *b, uint64_t address,
				struct frame_group *ret)
{
	const struct frame *frame;
	struct error *err = frame_cache_get(b->cache, address, &frame);

	if (err)
		return err;
	while (b->groups.len <= frame->index) {
		if (!vec_push(&b->groups, (struct frame_group){.count = 0}))
			return error_no_memory();
	}

	struct frame_group *group = &b->groups.data[frame->index];

	if (!group->frames) {
		size_t sources = frame->sources.list.len, count = sources ? sources : 1;
		struct report_frame *made =
			report_arena_alloc(b->arena, count, sizeof(*made));

		if (!made)
			return error_no_memory();
		for (size_t i = 0; i < count; i++)
			fill_frame(b, frame,
				   sources ? &frame->sources.list.data[i] : NULL,
				   &made[i]);
		*group = (struct frame_group){made, count};
	}
	*ret = *group;
	return NULL;
}

static struct error *name_row(struct builder *b, struct report_row *row)
{
	if (row->stack == SNAPSHOT_NO_STACK)
		return NULL;

	const struct snapshot_stack *stack = &b->snap->stacks.data[row->stack];

	if (stack->first_frame > b->snap->frames.len ||
	    stack->depth > b->snap->frames.len - stack->first_frame)
		return NULL;
	row->end = stack->end < STACK_END_COUNT ? stack->end : STACK_END_UNREADABLE;

	struct frame_group group;
	size_t depth = 0;

	/* Once to count and once to fill: the second time all are known. */
	for (size_t i = 0; i < stack->depth; i++) {
		uint64_t address = b->snap->frames.data[stack->first_frame + i];
		struct error *err = get_frames(b, address, &group);

		if (err)
			return err;
		depth += group.count;
	}

	const struct report_frame **frames =
		report_arena_alloc(b->arena, depth, sizeof(struct report_frame *));

	if (!frames)
		return error_no_memory();
	for (size_t i = 0; i < stack->depth; i++) {
		uint64_t address = b->snap->frames.data[stack->first_frame + i];
		struct error *err = get_frames(b, address, &group);

		if (err)
			return err;
		for (size_t j = 0; j < group.count; j++)
			frames[row->depth++] = &group.frames[j];
	}
	row->frames = frames;
	return NULL;
}

/* a - b for what both fit an int64_t in practice; saturates for damaged input. */
static int64_t difference(uint64_t a, uint64_t b)
{
	uint64_t distance = a > b ? a - b : b - a;

	if (distance > INT64_MAX)
		distance = INT64_MAX;
	return a > b ? (int64_t)distance : -(int64_t)distance;
}

static void fill_row(const struct builder *b, enum block_class class, uint32_t stack,
		     struct report_row *row)
{
	struct stack_sum now = stack_sums_get(&b->sums[class], stack);
	struct stack_sum before = stack_sums_get(&b->history->sums[class], stack);
	uint64_t time_ns = b->snap->time_ns;

	*row = (struct report_row){
		.stack = stack,
		.size_bytes = now.size_bytes,
		.count = now.count,
		.growth_bytes = difference(now.size_bytes, before.size_bytes),
		.growth_count = difference(now.count, before.count),
		.oldest_age_ns = time_ns > now.oldest_ns ? time_ns - now.oldest_ns : 0,
		.newest_age_ns = time_ns > now.newest_ns ? time_ns - now.newest_ns : 0,
		.end = STACK_END_UNREADABLE,
	};
}

static int compare_blocks(const void *pa, const void *pb)
{
	const struct snapshot_block *a = *(const struct snapshot_block *const *)pa;
	const struct snapshot_block *b = *(const struct snapshot_block *const *)pb;

	if (a->size_bytes != b->size_bytes)
		return a->size_bytes > b->size_bytes ? -1 : 1;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

/* Hand each listed block to the row of its stack, if that is shown. */
static struct error *list_blocks(struct builder *b, struct report_section *section)
{
	const struct snapshot_block *blocks = b->snap->blocks[section->class].data;
	size_t count = b->snap->blocks[section->class].len;
	size_t stacks = b->snap->stacks.len;
	/* Where the blocks of a stack go; the last slot is for those without. */
	_cleanup_(freep) const struct snapshot_block ***next =
		calloc(stacks + 1, sizeof(*next));

	if (!next)
		return error_no_memory();
	for (size_t i = 0; i < section->row_count; i++) {
		struct report_row *row = &section->rows[i];
		const struct snapshot_block **list =
			report_arena_alloc(b->arena, row->count, sizeof(*list));

		if (!list)
			return error_no_memory();
		next[row->stack == SNAPSHOT_NO_STACK ? stacks : row->stack] = list;
		row->blocks = list;
		row->block_count = row->count;
	}
	for (size_t i = 0; i < count; i++) {
		uint32_t stack = block_stack(b->snap, &blocks[i]);
		size_t slot = stack == SNAPSHOT_NO_STACK ? stacks : stack;

		if (next[slot] && block_is_listed(b->snap, b->options, &blocks[i]))
			*next[slot]++ = &blocks[i];
	}
	for (size_t i = 0; i < section->row_count; i++) {
		struct report_row *row = &section->rows[i];

		/* Filled through `next`, and the arena's memory is ours to order. */
		qsort((void *)row->blocks, row->block_count, sizeof(*row->blocks),
		      compare_blocks);
	}
	return NULL;
}

/* Events per second; 0 when no time has passed. */
static double rate(uint64_t now, uint64_t before, uint64_t since_ns)
{
	return now > before && since_ns ? (double)(now - before) * 1e9 / (double)since_ns
					: 0;
}

static void fill_rates(const struct builder *b, struct report_section *section)
{
	const struct snapshot_totals *now = &b->snap->totals[section->class];
	const struct snapshot_totals *before = &b->history->totals[section->class];
	uint64_t since_ns = b->report->since_ns;

	section->totals = *now;
	section->allocations_per_s =
		rate(now->allocations, before->allocations, since_ns);
	section->allocated_bytes_per_s =
		rate(now->allocated_bytes, before->allocated_bytes, since_ns);
	section->frees_per_s = rate(now->frees, before->frees, since_ns);
	section->freed_bytes_per_s =
		rate(now->freed_bytes, before->freed_bytes, since_ns);
}

static struct error *build_rows(struct builder *b, struct report_section *section,
				const struct stack_ranks *ranks)
{
	size_t shown = ranks->ranks.len;

	section->stack_count = ranks->ranks.len;
	if (b->options->top && b->options->top < shown)
		shown = b->options->top;
	section->rows = report_arena_alloc(b->arena, shown, sizeof(*section->rows));
	if (!section->rows)
		return error_no_memory();
	for (; section->row_count < shown; section->row_count++) {
		struct report_row *row = &section->rows[section->row_count];

		fill_row(b, section->class, ranks->ranks.data[section->row_count].stack,
			 row);

		struct error *err = name_row(b, row);

		if (err)
			return err;
	}
	return b->options->show_blocks ? list_blocks(b, section) : NULL;
}

static struct error *build_section(struct builder *b, enum block_class class)
{
	struct report_section *section = &b->report->sections[class];
	struct stack_sums *sums = &b->sums[class];
	struct stack_ranks ranks = {0};

	section->class = class;
	section->scale =
		class == BLOCK_HEAP && b->snap->sample_every ? b->snap->sample_every : 1;
	fill_rates(b, section);

	struct error *err = aggregate_blocks(b->snap, b->options, section, sums);

	section->live_growth_bytes =
		difference(section->live_bytes, b->history->live_bytes[class]);
	if (!err)
		err = rank_stacks(sums, b->options->sort, &ranks);
	if (!err)
		err = build_rows(b, section, &ranks);
	vec_deinit(&ranks.ranks);
	return err;
}

static void update_history(struct builder *b, struct report_history *history)
{
	history->reports++;
	history->time_ns = b->snap->time_ns;
	for (size_t i = 0; i < BLOCK_CLASS_COUNT; i++) {
		struct stack_sums before = history->sums[i];

		history->totals[i] = b->snap->totals[i];
		history->live_bytes[i] = b->report->sections[i].live_bytes;
		history->sums[i] = b->sums[i];
		b->sums[i] = before;
	}
}

static uint64_t elapsed(uint64_t now_ns, uint64_t then_ns)
{
	return now_ns > then_ns ? now_ns - then_ns : 0;
}

struct error *report_build(const struct snapshot *snap, struct report_history *history,
			   struct frame_cache *frames,
			   const struct report_options *options, enum report_cause cause,
			   struct report **ret)
{
	_cleanup_(report_destroyp) struct report *report = calloc(1, sizeof(*report));
	struct error *err = NULL;

	if (!report || !(report->arena = report_arena_create()))
		return error_no_memory();
	report->snapshot = snap;
	report->options = *options;
	report->cause = cause;
	report->sequence = history->reports + 1;
	report->has_previous = history->reports > 0;
	report->elapsed_ns = elapsed(snap->time_ns, snap->attached_ns);
	report->since_ns = report->has_previous ? elapsed(snap->time_ns, history->time_ns)
						: report->elapsed_ns;
	report->section_count = snap->mappings_traced ? 2 : 1;

	struct builder b = {
		.snap = snap,
		.options = options,
		.history = history,
		.cache = frames,
		.report = report,
		.arena = report->arena,
	};

	for (size_t i = 0; !err && i < report->section_count; i++)
		err = build_section(&b, (enum block_class)i);
	if (!err) {
		update_history(&b, history);
		*ret = take(report);
	}
	for (size_t i = 0; i < BLOCK_CLASS_COUNT; i++)
		stack_sums_deinit(&b.sums[i]);
	vec_deinit(&b.groups);
	return err;
}

void report_destroy(struct report *report)
{
	if (!report)
		return;
	report_arena_destroy(report->arena);
	free(report);
}

const char *report_cause_name(enum report_cause cause)
{
	static const char *const names[] = {
		[REPORT_INTERVAL] = "interval", [REPORT_DEMAND] = "demand",
		[REPORT_COUNT] = "count",       [REPORT_DURATION] = "duration",
		[REPORT_STOPPED] = "stopped",   [REPORT_EXITED] = "exited",
	};

	return names[cause];
}

bool report_cause_is_final(enum report_cause cause)
{
	return cause >= REPORT_COUNT;
}

uint64_t report_scale(const struct report_section *section, uint64_t n)
{
	uint64_t scaled;

	return __builtin_mul_overflow(n, section->scale, &scaled) ? UINT64_MAX : scaled;
}
