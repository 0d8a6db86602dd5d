// SPDX-License-Identifier: Apache-2.0
#include "report/report.h"

#include <stdlib.h>

#include "report/aggregate.h"
#include "report/build.h"
#include "report/processes.h"
#include "util/cleanup.h"
#include "util/saturate.h"

DEFINE_CLEANUP(struct report *, report_destroy);

static struct report_rates rates(const struct snapshot_totals *now,
				 const struct snapshot_totals *before, uint64_t since_ns)
{
	return (struct report_rates){
		.allocations =
			report_rate(now->allocations, before->allocations, since_ns),
		.allocated_bytes = report_rate(now->allocated_bytes,
					       before->allocated_bytes, since_ns),
		.frees = report_rate(now->frees, before->frees, since_ns),
		.freed_bytes =
			report_rate(now->freed_bytes, before->freed_bytes, since_ns),
	};
}

/* Scale the totals of sampled blocks. */
static struct snapshot_totals estimate(const struct snapshot *snap,
				       const struct report_section *section)
{
	struct snapshot_totals totals = section->totals;
	uint64_t times;

	if (!section->is_estimate)
		return totals;
	if (sampling_is_by_size(&snap->sampling)) {
		totals.allocations = snap->estimated.allocations;
		totals.allocated_bytes = snap->estimated.allocated_bytes;
		totals.frees = snap->estimated.frees;
		totals.freed_bytes = snap->estimated.freed_bytes;
		return totals;
	}
	times = sampling_factor(&snap->sampling);
	totals.allocations = report_times(totals.allocations, times);
	totals.allocated_bytes = report_times(totals.allocated_bytes, times);
	totals.frees = report_times(totals.frees, times);
	totals.freed_bytes = report_times(totals.freed_bytes, times);
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

/* Fill the numbers measured for the section as a whole. */
static void fill_traffic(const struct builder *b, struct report_section *section)
{
	const struct snapshot *snap = b->snap;
	uint64_t times = sampling_factor(&snap->sampling);

	if (!report_section_has(b->report, section, REPORT_DATA_TRAFFIC))
		return;
	for (size_t i = 0; i < SNAPSHOT_BUCKETS; i++)
		section->ever_sizes[i] =
			report_bucket_estimate(b->report, section, i, snap->sizes[i]);
	section->peak_bytes = sampling_is_by_size(&snap->sampling)
				      ? snap->estimated_peak_bytes
				      : report_times(snap->peak_bytes, times);
	vec_foreach (path, &snap->at_peak)
		section->at_peak_bytes =
			saturate_add(section->at_peak_bytes, path->bytes);
	section->at_peak_bytes = report_times(section->at_peak_bytes, times);
	section->missed_peak_bytes = report_times(snap->missed_peak_bytes, times);
}

static void fill_in_flight(const struct snapshot *snap, struct report_section *section)
{
	const struct snapshot_totals *t = &section->totals;

	/* A snapshot without totals says nothing. */
	if (section->class != BLOCK_HEAP || snapshot_has_losses(snap) || !t->allocations)
		return;
	section->has_in_flight = true;
	section->in_flight_count = report_difference(
		saturate_add(section->live.count, saturate_add(t->frees, t->gone)),
		t->allocations);
	section->in_flight_bytes = report_difference(
		saturate_add(section->live.size_bytes,
			     saturate_add(t->freed_bytes, t->gone_bytes)),
		t->allocated_bytes);
}

static struct error *build_section(struct builder *b, enum block_class class)
{
	struct report_section *section = &b->report->sections[b->report->section_count++];
	struct stack_sums *sums = &b->sums[class];

	section->class = class;
	section->is_estimate =
		block_class_is_sampled(class) && sampling_is_on(&b->snap->sampling);
	fill_rates(b, section);
	fill_traffic(b, section);

	struct error *err = aggregate_blocks(b->report, section, sums);

	fill_in_flight(b->snap, section);
	section->estimated_live_growth_bytes = report_difference(
		section->live.estimated_bytes, b->history->estimated_live_bytes[class]);
	if (!err)
		err = report_processes_build(b->report, &b->history->processes[class],
					     b->arena, section);
	if (!err)
		err = report_rows_build(b, section);
	return err;
}

/* Called before the rest of the history changes, because it may run out of memory. */
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
	traffic_history_set(&history->traffic, b->snap);
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

/* The order that the data allows. */
static enum report_sort find_sort(enum report_sort wanted, unsigned data)
{
	if (wanted == REPORT_SORT_AT_PEAK && !(data & REPORT_DATA_AT_PEAK))
		wanted = REPORT_SORT_PEAK;
	return report_sort_needs(wanted) & ~data ? REPORT_SORT_SIZE : wanted;
}

/* The classes that the report has sections for, in order. */
static size_t find_classes(const struct snapshot *snap,
			   enum block_class ret[BLOCK_CLASS_COUNT])
{
	size_t count = 0;

	ret[count++] = snapshot_main_class(snap);
	for (int i = 0; i < BLOCK_CLASS_COUNT; i++)
		if (i != (int)ret[0] && snapshot_has_class(snap, (enum block_class)i))
			ret[count++] = (enum block_class)i;
	return count;
}

/* After Ctrl-C little time may have passed since the last report. Somebody who asks for a
 * report (REPORT_DEMAND) wants its growth. */
#define GROWTH_LEAST_SHARE 10

static bool find_growth(const struct report *report)
{
	uint64_t interval_ns = report->options.interval_ns;

	if (!report->has_previous || report->cause == REPORT_DEMAND)
		return report->has_previous;
	/* Reports may have come on demand only. */
	if (interval_ns > report->elapsed_ns)
		interval_ns = report->elapsed_ns;
	return report->since_ns >= interval_ns / GROWTH_LEAST_SHARE;
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
	report->data = report_data_of(snap);
	report->sort = find_sort(options->sort, report->data);
	report->sequence = history->reports + 1;
	report->has_previous = history->reports > 0;
	report->elapsed_ns = saturate_subtract(snap->time_ns, snap->attached_ns);
	report->since_ns = report->has_previous
				   ? saturate_subtract(snap->time_ns, history->time_ns)
				   : report->elapsed_ns;
	report->has_growth = find_growth(report);
	sampling_weights_init(&snap->sampling, &report->weights);

	struct builder b = {
		.snap = snap,
		.options = options,
		.history = history,
		.report = report,
		.arena = report->arena,
	};

	err = frame_namer_init(&b.namer, snap, frames, options, report->arena);
	for (size_t i = 0; !err && i < class_count; i++)
		err = build_section(&b, classes[i]);
	if (!err)
		err = filter_hint_build(&b);
	if (!err)
		err = report_threads_build(&b);
	if (!err && !traffic_history_reserve(&history->traffic, snap))
		err = error_no_memory();
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

void report_destroy(struct report *report)
{
	if (!report)
		return;
	report_arena_destroy(report->arena);
	free(report);
}
