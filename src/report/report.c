// SPDX-License-Identifier: Apache-2.0
#include "report/report.h"

#include <stdlib.h>

#include "report/aggregate.h"
#include "report/arena.h"
#include "report/frames.h"
#include "report/history.h"
#include "report/processes.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct report *, report_destroy);

struct builder {
	const struct snapshot *snap;
	const struct report_options *options;
	const struct report_history *history;
	struct report *report;
	struct report_arena *arena; /* the report's */
	struct frame_namer namer;
	struct stack_sums sums[BLOCK_CLASS_COUNT]; /* for the next report */
};

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

		struct error *err = frame_namer_fill(&b->namer, row);

		if (err)
			return err;
	}
	struct error *err = report_processes_group(b->snap, section);

	return !err && b->options->show_blocks && section->class != BLOCK_EVENT
		       ? list_blocks(b, section)
		       : err;
}

static struct error *build_section(struct builder *b, enum block_class class)
{
	struct report_section *section = &b->report->sections[b->report->section_count++];
	struct stack_sums *sums = &b->sums[class];
	struct stack_ranks ranks = {0};

	section->class = class;
	section->is_estimate = class == BLOCK_HEAP &&
			       (b->snap->sample_every > 1 || b->snap->sample_bytes);
	fill_rates(b, section);

	struct error *err = aggregate_blocks(b->report, section, sums);

	section->estimated_live_growth_bytes = report_difference(
		section->live.estimated_bytes, b->history->estimated_live_bytes[class]);
	if (!err)
		err = report_processes_build(b->report, &b->history->processes[class],
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

			ok = ok && vec_push(&sums[section->class].processes, sum);
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
	for (size_t i = 0; i < b->report->section_count; i++) {
		const struct report_section *section = &b->report->sections[i];
		enum block_class class = section->class;
		struct stack_sums before = history->sums[class];

		history->totals[class] = section->totals;
		history->estimated_totals[class] = section->estimated_totals;
		history->estimated_live_bytes[class] = section->live.estimated_bytes;
		history->sums[class] = b->sums[class];
		b->sums[class] = before;
	}
}

static uint64_t elapsed(uint64_t now_ns, uint64_t then_ns)
{
	return now_ns > then_ns ? now_ns - then_ns : 0;
}

/* Those that the report has sections of, in their order. */
static size_t find_classes(const struct snapshot *snap,
			   enum block_class ret[BLOCK_CLASS_COUNT])
{
	size_t count = 0;

	ret[count++] = snap->event ? BLOCK_EVENT : BLOCK_HEAP;
	if (snap->mappings_traced)
		ret[count++] = BLOCK_MAPPING;
	return count;
}

struct error *report_build(const struct snapshot *snap, struct report_history *history,
			   struct frame_cache *const frames[],
			   const struct report_options *options, enum report_cause cause,
			   struct report **ret)
{
	_cleanup_(report_destroyp) struct report *report = calloc(1, sizeof(*report));
	enum block_class classes[BLOCK_CLASS_COUNT];
	size_t class_count = find_classes(snap, classes);
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
	sampling_weights_init(snap, &report->weights);

	struct builder b = {
		.snap = snap,
		.options = options,
		.history = history,
		.report = report,
		.arena = report->arena,
	};

	err = frame_namer_init(&b.namer, snap, frames, report->arena);
	for (size_t i = 0; !err && i < class_count; i++)
		err = build_section(&b, classes[i]);
	if (!err)
		err = update_process_sums(report, history);
	report->frame_count = b.namer.frame_count;
	if (!err) {
		update_history(&b, history);
		*ret = take(report);
	}
	for (size_t i = 0; i < BLOCK_CLASS_COUNT; i++)
		stack_sums_deinit(&b.sums[i]);
	frame_namer_deinit(&b.namer);
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
