// SPDX-License-Identifier: Apache-2.0
#include "report/report.h"

#include <stdlib.h>

#include "report/aggregate.h"
#include "report/arena.h"
#include "report/history.h"
#include "report/processes.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct report *, report_destroy);

/* What is shown for one address: the functions inlined there, then the one itself. */
struct frame_group {
	const struct report_frame *frames; /* NULL: not asked for yet */
	size_t count;
};

/* The frames of one process, by frame.index of its cache. */
struct process_frames {
	VEC(struct frame_group) groups;
};

struct builder {
	const struct snapshot *snap;
	const struct report_options *options;
	const struct report_history *history;
	struct frame_cache *const *caches; /* by process */
	struct report *report;
	struct report_arena *arena;                /* the report's */
	struct process_frames *frames;             /* by process */
	struct stack_sums sums[BLOCK_CLASS_COUNT]; /* for the next report */
};

/* `named` is NULL for code of a process that has no cache. */
static void fill_frame(struct builder *b, uint32_t process, uint64_t address,
		       const struct frame *named, const struct source_frame *source,
		       struct report_frame *ret)
{
	/* The last byte of the call: there addr2line finds the call's line. */
	uint64_t call = address ? address - 1 : 0;
	const struct snapshot_process *owner = snapshot_process(b->snap, process);
	const struct snapshot_module *module =
		owner ? snapshot_find_module(owner, call) : NULL;

	*ret = (struct report_frame){
		.address = call,
		.symbol = named ? named->symbol : NULL,
		.module = named ? named->module : NULL,
		.offset = named && named->offset ? named->offset - 1 : 0,
		.build_id = module ? module->build_id : NULL,
		.index = b->report->frame_count++,
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

static struct error *make_group(struct builder *b, uint32_t process, uint64_t address,
				const struct frame *named, struct frame_group *ret)
{
	size_t sources = named ? named->sources.list.len : 0;
	size_t count = sources ? sources : 1;
	struct report_frame *made = report_arena_alloc(b->arena, count, sizeof(*made));

	if (!made)
		return error_no_memory();
	for (size_t i = 0; i < count; i++)
		fill_frame(b, process, address, named,
			   sources ? &named->sources.list.data[i] : NULL, &made[i]);
	*ret = (struct frame_group){made, count};
	return NULL;
}

static struct error *get_frames(struct builder *b, uint32_t process, uint64_t address,
				struct frame_group *ret)
{
	const struct frame *frame;

	if (process >= b->snap->processes.len || !b->caches[process])
		return make_group(b, process, address, NULL, ret);

	struct process_frames *known = &b->frames[process];
	struct error *err = frame_cache_get(b->caches[process], address, &frame);

	if (err)
		return err;
	while (known->groups.len <= frame->index) {
		if (!vec_push(&known->groups, (struct frame_group){.count = 0}))
			return error_no_memory();
	}

	struct frame_group *group = &known->groups.data[frame->index];

	if (!group->frames)
		err = make_group(b, process, address, frame, group);
	*ret = *group;
	return err;
}

static struct error *name_row(struct builder *b, struct report_row *row)
{
	if (row->stack == SNAPSHOT_NO_STACK)
		return NULL;

	const struct snapshot_stack *stack = &b->snap->stacks.data[row->stack];

	row->process = snapshot_process(b->snap, stack->process);
	if (stack->allocator < b->snap->allocators.len)
		row->allocator = &b->snap->allocators.data[stack->allocator];
	if (stack->first_frame > b->snap->frames.len ||
	    stack->depth > b->snap->frames.len - stack->first_frame)
		return NULL;
	row->end = stack->end < STACK_END_COUNT ? stack->end : STACK_END_UNREADABLE;

	struct frame_group group;
	size_t depth = 0;

	/* Once to count and once to fill: the second time all are known. */
	for (size_t i = 0; i < stack->depth; i++) {
		uint64_t address = b->snap->frames.data[stack->first_frame + i];
		struct error *err = get_frames(b, stack->process, address, &group);

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
		struct error *err = get_frames(b, stack->process, address, &group);

		if (err)
			return err;
		for (size_t j = 0; j < group.count; j++)
			frames[row->depth++] = &group.frames[j];
	}
	row->frames = frames;
	return NULL;
}

static void fill_row(const struct builder *b, enum block_class class, uint32_t stack,
		     struct report_row *row)
{
	struct stack_sum now = stack_sums_get(&b->sums[class], stack);
	struct stack_sum before = stack_sums_get(&b->history->sums[class], stack);
	bool is_estimate = b->report->sections[class].is_estimate;
	struct report_sum now_sum = report_sum_from(&now, is_estimate);
	struct report_sum before_sum = report_sum_from(&before, is_estimate);
	uint64_t time_ns = b->snap->time_ns;

	*row = (struct report_row){
		.stack = stack,
		.sum = now_sum,
		.growth_bytes = report_difference(now.size_bytes, before.size_bytes),
		.growth_count = report_difference(now.count, before.count),
		.estimated_growth_bytes = report_difference(now_sum.estimated_bytes,
							    before_sum.estimated_bytes),
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
			report_arena_alloc(b->arena, row->sum.count, sizeof(*list));

		if (!list)
			return error_no_memory();
		next[row->stack == SNAPSHOT_NO_STACK ? stacks : row->stack] = list;
		row->blocks = list;
		row->block_count = row->sum.count;
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

static struct report_rates rates(const struct snapshot_totals *now,
				 const struct snapshot_totals *before, uint64_t since_ns)
{
	return (struct report_rates){
		.allocations = rate(now->allocations, before->allocations, since_ns),
		.allocated_bytes =
			rate(now->allocated_bytes, before->allocated_bytes, since_ns),
		.frees = rate(now->frees, before->frees, since_ns),
		.freed_bytes = rate(now->freed_bytes, before->freed_bytes, since_ns),
	};
}

static uint64_t times(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* What the totals of sampled blocks stand for. */
static struct snapshot_totals estimate(const struct snapshot *snap,
				       const struct report_section *section)
{
	struct snapshot_totals totals = section->totals;

	if (!section->is_estimate)
		return totals;
	if (snap->sample_bytes) {
		totals.allocations = snap->estimated.allocations;
		totals.allocated_bytes = snap->estimated.allocated_bytes;
		totals.frees = snap->estimated.frees;
		totals.freed_bytes = snap->estimated.freed_bytes;
		return totals;
	}
	totals.allocations = times(totals.allocations, snap->sample_every);
	totals.allocated_bytes = times(totals.allocated_bytes, snap->sample_every);
	totals.frees = times(totals.frees, snap->sample_every);
	totals.freed_bytes = times(totals.freed_bytes, snap->sample_every);
	return totals;
}

static void fill_rates(const struct builder *b, struct report_section *section)
{
	uint64_t since_ns = b->report->since_ns;

	section->totals = b->snap->totals[section->class];
	section->estimated_totals = estimate(b->snap, section);
	section->rates =
		rates(&section->totals, &b->history->totals[section->class], since_ns);
	section->estimated_rates =
		rates(&section->estimated_totals,
		      &b->history->estimated_totals[section->class], since_ns);
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
		row->rank = section->row_count;

		struct error *err = name_row(b, row);

		if (err)
			return err;
	}
	struct error *err = report_processes_group(b->snap, section);

	return !err && b->options->show_blocks ? list_blocks(b, section) : err;
}

static struct error *build_section(struct builder *b, enum block_class class)
{
	struct report_section *section = &b->report->sections[class];
	struct stack_sums *sums = &b->sums[class];
	struct stack_ranks ranks = {0};

	section->class = class;
	section->is_estimate = class == BLOCK_HEAP &&
			       (b->snap->sample_every > 1 || b->snap->sample_bytes);
	fill_rates(b, section);

	struct error *err = aggregate_blocks(b->snap, b->options, section, sums);

	section->estimated_live_growth_bytes = report_difference(
		section->live.estimated_bytes, b->history->estimated_live_bytes[class]);
	if (!err)
		err = report_processes_build(b->snap, &b->history->processes[class],
					     b->arena, section);
	if (!err)
		err = rank_stacks(sums, b->options->sort, section->is_estimate, &ranks);
	if (!err)
		err = build_rows(b, section, &ranks);
	vec_deinit(&ranks.ranks);
	return err;
}

/* Before anything else of the history changes: this may run out of memory. */
static struct error *update_process_sums(const struct report *report,
					 struct report_history *history)
{
	struct process_sums sums[BLOCK_CLASS_COUNT] = {0};
	bool ok = true;

	for (size_t i = 0; i < report->section_count; i++) {
		const struct report_section *section = &report->sections[i];

		for (size_t j = 0; j < section->process_count; j++) {
			const struct report_process *p = &section->processes[j];
			struct process_sum sum = {p->process->pid, p->live};

			ok = ok && vec_push(&sums[i].processes, sum);
		}
	}
	for (size_t i = 0; i < BLOCK_CLASS_COUNT; i++) {
		struct process_sums *to_free = ok ? &history->processes[i] : &sums[i];

		vec_deinit(&to_free->processes);
		if (ok)
			history->processes[i] = sums[i];
	}
	return ok ? NULL : error_no_memory();
}

static void update_history(struct builder *b, struct report_history *history)
{
	history->reports++;
	history->time_ns = b->snap->time_ns;
	for (size_t i = 0; i < BLOCK_CLASS_COUNT; i++) {
		struct stack_sums before = history->sums[i];

		history->totals[i] = b->snap->totals[i];
		history->estimated_totals[i] = b->report->sections[i].estimated_totals;
		history->estimated_live_bytes[i] =
			b->report->sections[i].live.estimated_bytes;
		history->sums[i] = b->sums[i];
		b->sums[i] = before;
	}
}

static uint64_t elapsed(uint64_t now_ns, uint64_t then_ns)
{
	return now_ns > then_ns ? now_ns - then_ns : 0;
}

struct error *report_build(const struct snapshot *snap, struct report_history *history,
			   struct frame_cache *const frames[],
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
	sampling_weights_init(snap, &report->weights);

	struct builder b = {
		.snap = snap,
		.options = options,
		.history = history,
		.caches = frames,
		.report = report,
		.arena = report->arena,
	};

	/* One more, as calloc(0) may give NULL. */
	b.frames = calloc(snap->processes.len + 1, sizeof(*b.frames));
	if (!b.frames)
		return error_no_memory();
	for (size_t i = 0; !err && i < report->section_count; i++)
		err = build_section(&b, (enum block_class)i);
	if (!err)
		err = update_process_sums(report, history);
	if (!err) {
		update_history(&b, history);
		*ret = take(report);
	}
	for (size_t i = 0; i < BLOCK_CLASS_COUNT; i++)
		stack_sums_deinit(&b.sums[i]);
	for (size_t i = 0; i < snap->processes.len; i++)
		vec_deinit(&b.frames[i].groups);
	free(b.frames);
	return err;
}

double report_weight(const struct report *report, const struct report_section *section,
		     uint64_t size_bytes)
{
	return section->is_estimate ? sampling_weight(&report->weights, size_bytes) : 1;
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
