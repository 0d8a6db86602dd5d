// SPDX-License-Identifier: Apache-2.0
#include "report/history.h"

#include <stdlib.h>

void stack_sums_deinit(struct stack_sums *sums)
{
	vec_deinit(&sums->stacks);
}

struct stack_sum stack_sums_get(const struct stack_sums *sums, uint32_t stack)
{
	if (stack == SNAPSHOT_NO_STACK)
		return sums->none;
	return stack < sums->stacks.len ? sums->stacks.data[stack]
					: (struct stack_sum){0};
}

int64_t report_difference(uint64_t a, uint64_t b)
{
	uint64_t distance = a > b ? a - b : b - a;

	if (distance > INT64_MAX)
		distance = INT64_MAX;
	return a > b ? (int64_t)distance : -(int64_t)distance;
}

uint64_t report_add(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
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
	free(history);
}
