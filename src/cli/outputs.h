/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files beside the reports: each in a format of its own, with all stacks whatever --top
 * says, written at the end of the run, or with --output-every at each report. What goes
 * to standard output, which cannot be written anew, is written at the end always.
 */
#ifndef CLI_OUTPUTS_H
#define CLI_OUTPUTS_H

#include <stdio.h>

#include "cli/new_file.h"
#include "cli/options.h"
#include "report/diff.h"

struct outputs {
	const struct options *options;
	/* What was written last may be overwritten. */
	struct file_identity own[OUTPUT_KIND_COUNT];
	uint64_t unwritten; /* reports but the last that lack one of their outputs */
	/* The last attempt to write it has failed. The last one of all is the report
	 * itself. */
	bool is_failing[OUTPUT_KIND_COUNT + 1];
};

/*
 * Find out before the run whether its files can be written: the directory is there and
 * takes files, and a name that is known already is free or --force is given. Writes
 * nothing. `options` is borrowed. There is nothing to deinit.
 */
struct error *outputs_init(struct outputs *ret, const struct options *options)
	__attribute__((warn_unused_result));

/* The options to build the next report with, which may be the last: `options`, or what
 * the files need, if any are due. report_view() makes the former of the latter. */
struct report_options outputs_report_options(const struct outputs *outputs,
					     const struct report_options *options,
					     bool is_final);

/* Whether the next report's snapshot is to be saved: it then needs its names and what is
 * known of the report before (report/recorded.h). */
bool outputs_save_is_due(const struct outputs *outputs, bool is_final);

/* Whether the run is to write any file. */
bool outputs_are_wanted(const struct outputs *outputs);

/*
 * Write the files that are due from a report that was built with those options. A file
 * that cannot be written is left as it was, and the others are still written. `err`,
 * taken over, is what came of writing the report itself. After the last report, returns
 * the first error and prints the others. After an earlier report, prints a warning for
 * each output instead: the disk may have room again later. The warning is printed once
 * for reports that fail in a row. To be called once for each report.
 */
struct error *outputs_write(struct outputs *outputs, const struct report *report,
			    struct error *err, bool is_final)
	__attribute__((warn_unused_result));

/* The same for a difference with all rows, of which there is one in a run. */
struct error *outputs_write_diff(struct outputs *outputs, const struct report_diff *diff)
	__attribute__((warn_unused_result));

/* Say how many reports lack an output, but for the last. False: none does. */
bool outputs_say_unwritten(const struct outputs *outputs, FILE *out);

#endif
