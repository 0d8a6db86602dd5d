/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of report_build() share. Private to report/. */
#ifndef REPORT_BUILD_H
#define REPORT_BUILD_H

#include "report/filter.h"
#include "report/frames.h"
#include "report/history.h"

struct builder {
	const struct snapshot *snap;
	const struct report_options *options;
	const struct report_history *history;
	struct report *report;
	struct report_arena *arena; /* the report's */
	struct frame_namer namer;
	struct stack_sums sums[BLOCK_CLASS_COUNT]; /* for the next report */
};

/* Everything of a row that needs no names and no list of its blocks. `stack` is an index
 * of the snapshot's stacks, or SNAPSHOT_NO_STACK. */
void report_row_init(const struct builder *b, const struct report_section *section,
		     uint32_t stack, struct report_row *ret);

/* Events per second; 0 when no time has passed. */
double report_rate(uint64_t now, uint64_t before, uint64_t since_ns);

/* What rows are ranked by: `first`, then `second` and `third`, most first. */
struct sort_key {
	uint64_t first, second, third;
};
struct sort_key report_sort_key(enum report_sort sort, const struct report_row *row);

/* What the filter makes of a stack of the snapshot. */
struct error *report_judge(struct builder *b, uint32_t stack, enum filter_verdict *ret)
	__attribute__((warn_unused_result));

/* Choose and name the rows of a section, and its suspects. */
struct error *report_rows_build(struct builder *b, struct report_section *section)
	__attribute__((warn_unused_result));

/* How strongly a row seems to leak: its slope times R^2; 0 for no suspect (struct
 * report_suspect). */
double report_suspicion(const struct report *report, const struct report_row *row);

/* Fill what the single blocks of the section's rows tell: ages, sizes, and with
 * show_blocks the blocks themselves. */
struct error *report_blocks_build(struct builder *b, struct report_section *section)
	__attribute__((warn_unused_result));

/* Fill the processes of rows that are in no list of the section. */
struct error *report_holders_build(struct builder *b,
				   const struct report_section *section,
				   struct report_row rows[], size_t row_count)
	__attribute__((warn_unused_result));

/* The same of the rows of a section of events. */
struct error *report_events_build(struct builder *b, struct report_section *section)
	__attribute__((warn_unused_result));

/* Fill section->singles. */
struct error *report_singles_build(struct builder *b, struct report_section *section)
	__attribute__((warn_unused_result));

/* Fill report->threads. */
struct error *report_threads_build(struct builder *b) __attribute__((warn_unused_result));

#endif
