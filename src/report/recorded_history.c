// SPDX-License-Identifier: Apache-2.0
/* Stores a history in a snapshot, and restores it. */
#include <string.h>

#include "report/history.h"
#include "report/recorded.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct report_history *, report_history_destroy);

static bool record_stack(struct snapshot_before *before, size_t class,
			 const struct snapshot_held *sum)
{
	return vec_push(&before->stacks[class],
			(struct snapshot_stack_before){
				.size_bytes = sum->size_bytes,
				.count = sum->count,
				.estimated_bytes = sum->estimated_bytes,
				.estimated_count = sum->estimated_count,
			});
}

static bool record_class(struct snapshot_before *before, size_t class,
			 const struct report_history *history)
{
	const struct stack_sums *sums = &history->sums[class];

	before->totals[class] = history->totals[class];
	before->estimated_totals[class] = history->estimated_totals[class];
	before->estimated_live_bytes[class] = history->estimated_live_bytes[class];
	before->stacks[class].len = before->processes[class].len = 0;
	vec_foreach (sum, &sums->stacks) {
		if (!record_stack(before, class, sum))
			return false;
	}
	vec_foreach (p, &history->processes[class].processes) {
		const struct snapshot_process_before process = {
			.pid = p->pid,
			.size_bytes = p->live.size_bytes,
			.count = p->live.count,
			.estimated_bytes = p->live.estimated_bytes,
			.estimated_count = p->live.estimated_count,
		};

		if (!vec_push(&before->processes[class], process))
			return false;
	}
	return record_stack(before, class, &sums->none);
}

struct error *report_record_before(struct snapshot *snap,
				   const struct report_history *history,
				   enum report_cause cause)
{
	free(snap->cause);
	snap->cause = strdup(report_cause_name(cause));
	snap->before.reports = history->reports;
	snap->before.time_ns = history->time_ns;
	/* Before the first report there is nothing to record. */
	for (size_t i = 0; history->reports && i < BLOCK_CLASS_COUNT; i++) {
		if (!record_class(&snap->before, i, history))
			return error_no_memory();
	}
	snap->before.traffic.len = 0;
	vec_foreach (traffic, &history->traffic.stacks) {
		if (!vec_push(&snap->before.traffic, *traffic))
			return error_no_memory();
	}
	return snap->cause ? NULL : error_no_memory();
}

static bool restore_class(struct report_history *history, size_t class,
			  const struct snapshot_before *before)
{
	struct stack_sums *sums = &history->sums[class];

	history->totals[class] = before->totals[class];
	history->estimated_totals[class] = before->estimated_totals[class];
	history->estimated_live_bytes[class] = before->estimated_live_bytes[class];
	vec_foreach (stack, &before->stacks[class]) {
		const struct snapshot_held sum = {
			.size_bytes = stack->size_bytes,
			.count = stack->count,
			.estimated_bytes = stack->estimated_bytes,
			.estimated_count = stack->estimated_count,
		};

		if (stack == &before->stacks[class].data[before->stacks[class].len - 1])
			sums->none = sum;
		else if (!vec_push(&sums->stacks, sum))
			return false;
	}
	vec_foreach (p, &before->processes[class]) {
		const struct process_sum sum = {
			.pid = p->pid,
			.live = {.size_bytes = p->size_bytes,
				 .count = p->count,
				 .estimated_bytes = p->estimated_bytes,
				 .estimated_count = p->estimated_count},
		};

		if (!vec_push(&history->processes[class].processes, sum))
			return false;
	}
	return true;
}

struct error *report_recorded_history(const struct snapshot *snap,
				      struct report_history **ret)
{
	_cleanup_(report_history_destroyp) struct report_history *history =
		report_history_create();

	if (!history)
		return error_no_memory();
	history->reports = snap->before.reports;
	history->time_ns = snap->before.time_ns;
	for (size_t i = 0; i < BLOCK_CLASS_COUNT; i++) {
		if (!restore_class(history, i, &snap->before))
			return error_no_memory();
	}
	vec_foreach (traffic, &snap->before.traffic) {
		if (!vec_push(&history->traffic.stacks, *traffic))
			return error_no_memory();
	}
	*ret = take(history);
	return NULL;
}

enum report_cause report_recorded_cause(const struct snapshot *snap)
{
	for (int i = REPORT_INTERVAL; snap->cause && i <= REPORT_EXITED; i++) {
		if (!strcmp(report_cause_name((enum report_cause)i), snap->cause))
			return (enum report_cause)i;
	}
	return REPORT_STOPPED;
}
