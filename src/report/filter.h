/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which call paths a report shows, by the names of their frames, and which frames of
 * those. Made once for a run from patterns of the command line and of files.
 *
 * A pattern is "fn:GLOB", "mod:GLOB", "src:GLOB" or GLOB alone and is compared with each
 * frame of a stack: with the function's name as it is shown; with the path or the last
 * part of the path of its module, or of its source file; a GLOB alone with function and
 * module. See util/glob.h: it has to match all of the name.
 */
#ifndef REPORT_FILTER_H
#define REPORT_FILTER_H

#include "report/row.h"
#include "util/error.h"

/* What a pattern is for. */
enum filter_use {
	FILTER_KEEP,     /* --filter: only stacks that one of these matches are shown */
	FILTER_EXCLUDE,  /* --exclude: stacks that one of these matches are not */
	FILTER_SUPPRESS, /* --suppressions: nor are these, which is said apart */
	FILTER_HIDE,     /* --hide-frames: not the stack, the frame itself is hidden */
	FILTER_USES,
};

/* What the frames of a stack match. */
enum filter_match {
	FILTER_MATCH_KEEP = 1 << FILTER_KEEP,
	FILTER_MATCH_EXCLUDE = 1 << FILTER_EXCLUDE,
	FILTER_MATCH_SUPPRESS = 1 << FILTER_SUPPRESS,
	FILTER_MATCH_HIDE = 1 << FILTER_HIDE,
};

struct report_filter;

/* An empty filter, which changes nothing; NULL when memory is out. */
struct report_filter *report_filter_create(void);
void report_filter_destroy(struct report_filter *filter);

/* Add a pattern. ERROR_USAGE says what is wrong with it, without a name before it. */
struct error *report_filter_add(struct report_filter *filter, enum filter_use use,
				const char *pattern) __attribute__((warn_unused_result));

/*
 * Add the patterns of a text file: one a line; blanks around it, empty lines and those
 * that begin with '#' are skipped. Suppressions are written as LeakSanitizer has them
 * (clang's documentation, LeakSanitizer, "Suppressions"; templates of sanitizer_common):
 * "leak:TEMPLATE", where '*' stands for any text, '^' and '$' at the ends for the ends of
 * the name, and which matches a part of the function's name or of the path of its module
 * or source file. ERROR_USAGE names the file, and the line where one is wrong, also for a
 * file that cannot be read or is larger than a mebibyte.
 */
struct error *report_filter_read(struct report_filter *filter, enum filter_use use,
				 const char *path) __attribute__((warn_unused_result));

/* Hide the frames that say nothing about where memory went: how programs and threads
 * begin, and what allocates on behalf of operators and containers. report_filter_noise
 * are the patterns, ended by NULL. */
struct error *report_filter_hide_noise(struct report_filter *filter)
	__attribute__((warn_unused_result));
extern const char *const report_filter_noise[];

/* True when nothing has to be compared to decide about stacks. */
bool report_filter_keeps_all(const struct report_filter *filter);

/* Compare a frame with all patterns: a set of enum filter_match. Sets frame->hidden. */
unsigned report_filter_match(const struct report_filter *filter,
			     struct report_frame *frame);

/* What becomes of a stack whose frames match `matches`. */
enum filter_verdict {
	FILTER_SHOWN,
	FILTER_LEFT_OUT,
	FILTER_SUPPRESSED
};
enum filter_verdict report_filter_judge(const struct report_filter *filter,
					unsigned matches);

#endif
