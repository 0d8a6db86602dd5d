// SPDX-License-Identifier: Apache-2.0
#include "report/history.h"

#include <stdlib.h>
#include <string.h>

void stack_sums_deinit(struct stack_sums *sums)
{
	vec_deinit(&sums->stacks);
}

struct snapshot_held stack_sums_get(const struct stack_sums *sums, uint32_t stack)
{
	if (stack == SNAPSHOT_NO_STACK)
		return sums->none;
	return stack < sums->stacks.len ? sums->stacks.data[stack]
					: (struct snapshot_held){0};
}

int64_t report_difference(uint64_t a, uint64_t b)
{
	uint64_t distance = a > b ? a - b : b - a;

	if (distance > INT64_MAX)
		distance = INT64_MAX;
	return a > b ? (int64_t)distance : -(int64_t)distance;
}

uint64_t report_round(double estimate)
{
	return estimate < 18e18 ? (uint64_t)(estimate + 0.5) : UINT64_MAX;
}

struct report_sum process_sums_get(const struct process_sums *sums, int pid)
{
	vec_foreach (sum, &sums->processes)
		if (sum->pid == pid)
			return sum->live;
	return (struct report_sum){0};
}

struct snapshot_traffic traffic_history_get(const struct traffic_history *history,
					    uint32_t stack)
{
	return stack < history->stacks.len ? history->stacks.data[stack]
					   : (struct snapshot_traffic){0};
}

bool traffic_history_reserve(struct traffic_history *history, const struct snapshot *snap)
{
	return vec_reserve(&history->stacks, snap->has_traffic ? snap->traffic.len : 0);
}

void traffic_history_set(struct traffic_history *history, const struct snapshot *snap)
{
	history->stacks.len = snap->has_traffic ? snap->traffic.len : 0;
	if (history->stacks.len)
		memcpy(history->stacks.data, snap->traffic.data,
		       history->stacks.len * sizeof(*history->stacks.data));
}

struct report_history *report_history_create(void)
{
	return calloc(1, sizeof(struct report_history));
}

void report_history_destroy(struct report_history *history)
{
	if (!history)
		return;
	for (size_t i = 0; i < BLOCK_CLASS_COUNT; i++) {
		stack_sums_deinit(&history->sums[i]);
		vec_deinit(&history->processes[i].processes);
	}
	vec_deinit(&history->traffic.stacks);
	free(history);
}
