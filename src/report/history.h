/* SPDX-License-Identifier: Apache-2.0 */
/* State that a report keeps for the next one. Private to report/. */
#ifndef REPORT_HISTORY_H
#define REPORT_HISTORY_H

#include "report/report.h"
#include "snapshot/sums.h"
#include "util/vec.h"

/*
 * Sums for each stack index of a snapshot, and one for blocks without a stack. In a run a
 * stack keeps its index, and new stacks are appended.
 */
struct stack_sums {
	VEC(struct snapshot_held) stacks;
	struct snapshot_held none;
};

/* The live blocks of a process at the last report. */
struct process_sum {
	int pid;
	struct report_sum live;
};

struct process_sums {
	VEC(struct process_sum) processes;
};

/* Traffic for each stack index of a snapshot; empty if the snapshot had none. */
struct traffic_history {
	VEC(struct snapshot_traffic) stacks;
};

struct report_history {
	uint64_t reports; /* number of reports so far */
	uint64_t time_ns; /* time of the last report's snapshot */
	struct snapshot_totals totals[BLOCK_CLASS_COUNT];
	struct snapshot_totals estimated_totals[BLOCK_CLASS_COUNT];
	uint64_t estimated_live_bytes[BLOCK_CLASS_COUNT];
	struct stack_sums sums[BLOCK_CLASS_COUNT];
	struct process_sums processes[BLOCK_CLASS_COUNT];
	struct traffic_history traffic;
};

void stack_sums_deinit(struct stack_sums *sums);

/* The live blocks of the process `pid` at the last report; 0 if it was not in it. */
struct report_sum process_sums_get(const struct process_sums *sums, int pid);

/* The sum of `stack` (an index or SNAPSHOT_NO_STACK); 0 if the stack was not there. */
struct snapshot_held stack_sums_get(const struct stack_sums *sums, uint32_t stack);

/* The traffic of `stack`; 0 if there was none. */
struct snapshot_traffic traffic_history_get(const struct traffic_history *history,
					    uint32_t stack);

/* Reserve memory for the traffic of `snap`. Returns false, with nothing changed, if
 * memory is out. */
bool traffic_history_reserve(struct traffic_history *history,
			     const struct snapshot *snap);

/* Store the traffic of `snap`, after traffic_history_reserve(). */
void traffic_history_set(struct traffic_history *history, const struct snapshot *snap);

#endif
