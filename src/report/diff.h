/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What two reports differ in. Stacks are the same when the names of their frames are:
 * symbols and the last parts of the paths of their modules, not addresses, lines or
 * process ids, which are others in each run. A frame without a symbol is known by its
 * module and the offset in it.
 */
#ifndef REPORT_DIFF_H
#define REPORT_DIFF_H

#include "report/report.h"

struct report_diff_row {
	/* Only its frames, depth, end, stack (SNAPSHOT_NO_STACK or not), process (of the
	 * new snapshot, or NULL) and sum have a meaning. The sum is the larger of both,
	 * and growth the difference: a flame graph shows what is gone, too. */
	struct report_row row;
	const char *command; /* of its processes; NULL: unknown, or there is only one */
	uint64_t old_bytes, old_count; /* estimated, where blocks were sampled */
	uint64_t new_bytes, new_count;
	int64_t bytes, count; /* new - old */
};

struct report_diff_section {
	enum block_class class;
	struct report_sum old, new;   /* listed */
	struct report_diff_row *rows; /* that differ, largest difference first */
	size_t row_count;             /* at most options.top */
	size_t changed, unchanged;    /* stacks */
	size_t skipped;               /* below skip_bytes or skip_count on both sides */
};

struct report_diff {
	const struct report *old, *new; /* borrowed */
	struct report_options options;
	struct report_diff_section sections[BLOCK_CLASS_COUNT];
	size_t section_count;
	/* All rows but those skipped, also those without a difference, as a report for
	 * the renderers of call paths: `rows` of its sections are as report_diff_row.row.
	 */
	struct report graph;
	struct report_arena *arena;
};

/*
 * Compare two reports that were built with all rows, none of them skipped; both must
 * outlive it. `options` says how many rows there are to be and what they are ranked by:
 * bytes, or blocks with REPORT_SORT_COUNT; growth comes before what shrank by as much.
 * Linear but for sorting. Fails only when memory is out.
 */
struct error *report_diff_create(const struct report *old, const struct report *new,
				 const struct report_options *options,
				 struct report_diff **ret)
	__attribute__((warn_unused_result));
void report_diff_destroy(struct report_diff *diff);

#endif
