/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of report_build(). Private to report/. */
#ifndef REPORT_BUILD_H
#define REPORT_BUILD_H

#include "frames/filter.h"
#include "report/frames.h"
#include "report/history.h"

struct builder {
	const struct snapshot *snap;
	const struct report_options *options;
	const struct report_history *history;
	struct report *report;
	struct report_arena *arena; /* of the report */
	struct frame_namer namer;
	struct stack_sums sums[BLOCK_CLASS_COUNT]; /* become the history of the next
						      report */
};

/* Fill the parts of a row that need neither names nor the list of its blocks. `stack` is
 * an index of the snapshot's stacks, or SNAPSHOT_NO_STACK. */
void report_row_init(const struct builder *b, const struct report_section *section,
		     uint32_t stack, struct report_row *ret);

/* Events per second; 0 if no time has passed. */
double report_rate(uint64_t now, uint64_t before, uint64_t since_ns);

/* Sort key of a row: by `first`, then `second`, then `third`, largest first. */
struct sort_key {
	uint64_t first, second, third;
};
struct sort_key report_sort_key(enum report_sort sort, const struct report_row *row);

/* Apply the filter to a stack of the snapshot. */
struct error *report_judge(struct builder *b, uint32_t stack, enum filter_verdict *ret)
	__attribute__((warn_unused_result));

/* Rank, choose and name the rows of a section, and find its suspects. */
struct error *report_rows_build(struct builder *b, struct report_section *section)
	__attribute__((warn_unused_result));

/* How strongly a row seems to leak: its slope times R^2. 0 if it is not a suspect (struct
 * report_suspect). */
double report_suspicion(const struct report *report, const struct report_row *row);

/* Fill what the blocks of the section's rows show: ages, sizes, threads, processes, and
 * with show_blocks the blocks themselves. */
struct error *report_blocks_build(struct builder *b, struct report_section *section)
	__attribute__((warn_unused_result));

/* Fill the processes of rows that are not in section->rows. */
struct error *report_holders_build(struct builder *b,
				   const struct report_section *section,
				   struct report_row rows[], size_t row_count)
	__attribute__((warn_unused_result));

/* Fill the processes of the rows of an event section. */
struct error *report_events_build(struct builder *b, struct report_section *section)
	__attribute__((warn_unused_result));

/* Fill section->singles. */
struct error *report_singles_build(struct builder *b, struct report_section *section)
	__attribute__((warn_unused_result));

/* Fill report->threads. */
struct error *report_threads_build(struct builder *b) __attribute__((warn_unused_result));

/* Set report->near_filter. */
struct error *filter_hint_build(struct builder *b) __attribute__((warn_unused_result));

#endif
