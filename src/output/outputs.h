/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files written in addition to the reports. Each has its own format and all stacks,
 * regardless of --top. They are written at the end of the run or, with --output-every, at
 * each report. What goes to standard output is always written at the end only, because it
 * cannot be overwritten.
 */
#ifndef OUTPUT_OUTPUTS_H
#define OUTPUT_OUTPUTS_H

#include <stdio.h>

#include "files/new_file.h"
#include "options/options.h"
#include "output/writer.h"
#include "diff/diff.h"

struct outputs {
	const struct options *options;
	struct writer *writer; /* creates the files; NULL: this process */
	/* The files written last, which may be overwritten without --force. */
	struct file_identity own[OUTPUT_KIND_COUNT];
	const struct snapshot *saved; /* what --save writes; NULL: the report's snapshot.
					 Borrowed */
	FILE *said; /* names each file of the last report here; NULL: nowhere. Borrowed */
	uint64_t unwritten; /* non-final reports that lack at least one output */
	/* The last write of this output failed. The last element is for the report
	 * itself. */
	bool is_failing[OUTPUT_KIND_COUNT + 1];
};

/*
 * Check before the run that its files can be written: files can be created in the
 * directory, and a name that is already known is free or --force is set. Writes nothing.
 * `options` and `writer` (NULL: this process creates files) are borrowed. No deinit is
 * needed.
 */
struct error *outputs_init(struct outputs *ret, const struct options *options,
			   struct writer *writer) __attribute__((warn_unused_result));

/* The options for building the next report (`is_final`: the last one): `options`,
 * extended by what the files need if any are due. Use report_view() to reduce the built
 * report to `options`. */
struct report_options outputs_report_options(const struct outputs *outputs,
					     const struct report_options *options,
					     bool is_final);

/* Must the snapshot of the next report be saved? It then needs its names and what is
 * known of the previous report (report/recorded.h). */
bool outputs_save_is_due(const struct outputs *outputs, bool is_final);

/* Does the run write any file? */
bool outputs_are_wanted(const struct outputs *outputs);

/*
 * Write the files that are due, from a report built with outputs_report_options(), once
 * for each report. If a file cannot be written, the old one stays, and the others are
 * still written. `err` is the result of writing the report itself; it is consumed. After
 * the last report, returns the first error and prints the others. Before, prints a
 * warning when an output begins to fail: the disk may have room again later.
 */
struct error *outputs_write(struct outputs *outputs, const struct report *report,
			    struct error *err, bool is_final)
	__attribute__((warn_unused_result));

/* The same for a diff with all rows. A run has only one. */
struct error *outputs_write_diff(struct outputs *outputs, const struct report_diff *diff)
	__attribute__((warn_unused_result));

/*
 * Write one file from a report built with outputs_report_options(), under the first name
 * that is free of those with %n from 1 to `most`. Nothing is overwritten. *ret_path is
 * the caller's.
 */
struct error *outputs_write_free(struct outputs *outputs, enum output_kind kind,
				 const struct report *report, uint64_t most,
				 char **ret_path) __attribute__((warn_unused_result));

/* Print how many non-final reports lack an output. Returns false if none does. */
bool outputs_say_unwritten(const struct outputs *outputs);

#endif
