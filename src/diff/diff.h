/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The difference between two reports. Two stacks are equal if the names of their frames
 * are: the symbols and the base names of their modules, or modules that stand for each
 * other (diff/diff_modules.h). Addresses, lines and process ids do not count, because
 * they differ in each run. A frame without a symbol is identified by its module and the
 * offset in it.
 */
#ifndef DIFF_DIFF_H
#define DIFF_DIFF_H

#include "diff/diff_modules.h"
#include "report/report.h"

struct report_diff_row {
	/* Only frames, depth, end, stack (SNAPSHOT_NO_STACK or not), process (of the new
	 * snapshot, or NULL), sum and growth are valid. The sum is the larger of the two
	 * reports' sums, so that a flame graph also shows what is gone. Growth is the
	 * difference. */
	struct report_row row;
	const char *command; /* command of its processes; NULL: unknown, or there is only
				one process */
	uint64_t old_bytes, old_count; /* estimates if blocks were sampled */
	uint64_t new_bytes, new_count;
	int64_t bytes, count; /* new - old */
	/* Bytes that a search found to be unreachable (report_row_lost_bytes()). */
	uint64_t old_lost_bytes, new_lost_bytes;
};

struct report_diff_section {
	enum block_class class;
	/* Of the old and the new report; an empty section if that report has none of the
	 * class. Never NULL. */
	const struct report_section *of_old, *of_new;
	struct report_sum old, new;   /* listed blocks */
	struct report_diff_row *rows; /* rows that differ, largest difference first */
	size_t row_count;             /* at most options.top */
	size_t changed, unchanged;    /* number of stacks */
	size_t skipped;               /* stacks below skip_bytes or skip_count on both
					 sides */
};

/* Has a search for unreachable blocks been made for the report? */
bool report_diff_knows_lost(const struct report *report);

/* The bytes per minute that say more than the bytes. */
enum diff_rates {
	DIFF_RATE_NONE,
	DIFF_RATE_BETWEEN, /* of one run: the difference, by the time between */
	DIFF_RATE_EACH, /* of runs of different length: what each side holds, by its own
			   length */
};

struct report_diff {
	const struct report *old, *new; /* borrowed */
	bool is_one_run;                /* both are of one run, the new one later */
	struct matched_modules modules; /* whose names differ */
	struct report_options options;
	/* A section for each class of either report: first the new report's main class,
	 * then the others in the order of enum block_class. */
	struct report_diff_section sections[BLOCK_CLASS_COUNT];
	size_t section_count;
	/* All rows except the skipped ones, including rows without a difference, as a
	 * report for the renderers of call paths. It has the same sections, whose rows
	 * are report_diff_row.row. */
	struct report graph;
	struct report_arena *arena;
};

/*
 * Compare two reports that were built with all rows and without skipping any. Both must
 * outlive the result. `options` gives the number of rows and their order: by bytes, or by
 * blocks with REPORT_SORT_COUNT. Of equal changes, growth comes first. Linear except for
 * sorting. Fails only if memory is out.
 */
struct error *report_diff_create(const struct report *old, const struct report *new,
				 const struct report_options *options,
				 struct report_diff **ret)
	__attribute__((warn_unused_result));
/* Which rates to show. Lengths that differ by less than a tenth are equal. */
enum diff_rates report_diff_rates(const struct report_diff *diff);
/* Bytes per minute: of DIFF_RATE_EACH, of the old and of the new side; of
 * DIFF_RATE_BETWEEN, of a difference. */
double report_diff_old_rate(const struct report_diff *diff, uint64_t bytes);
double report_diff_new_rate(const struct report_diff *diff, uint64_t bytes);
double report_diff_rate(const struct report_diff *diff, int64_t bytes);

void report_diff_destroy(struct report_diff *diff);

#endif
