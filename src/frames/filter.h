/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selects the call paths of a report, and the frames that are shown of them, by the names
 * of frames. Created once for a run from patterns of the command line and of files:
 * docs/options.md, "Stacks to show". The GLOB of a pattern must match the whole name
 * (util/glob.h).
 */
#ifndef FRAMES_FILTER_H
#define FRAMES_FILTER_H

#include "frames/frame.h"
#include "util/error.h"

/* What a match of a pattern does. */
enum filter_use {
	FILTER_KEEP,     /* --filter: show only stacks that match one of these */
	FILTER_EXCLUDE,  /* --exclude: do not show stacks that match one of these */
	FILTER_SUPPRESS, /* --suppressions: the same, but counted separately */
	FILTER_HIDE,     /* --hide-frames: hide the matching frame, not the stack */
	FILTER_USES,
};

/* A frame of a stack matches a pattern that was added for this use. */
enum filter_match {
	FILTER_MATCH_KEEP = 1 << FILTER_KEEP,
	FILTER_MATCH_EXCLUDE = 1 << FILTER_EXCLUDE,
	FILTER_MATCH_SUPPRESS = 1 << FILTER_SUPPRESS,
	FILTER_MATCH_HIDE = 1 << FILTER_HIDE,
};

struct report_filter;

/* Create an empty filter, which changes nothing. NULL if memory is out. */
struct report_filter *report_filter_create(void);
void report_filter_destroy(struct report_filter *filter);

/* Add a pattern. ERROR_USAGE says what is wrong with it, without naming the option. */
struct error *report_filter_add(struct report_filter *filter, enum filter_use use,
				const char *pattern) __attribute__((warn_unused_result));

/*
 * Add the patterns of a text file, one on each line. Blanks around a pattern, empty lines
 * and lines that begin with '#' are ignored. Suppressions have the syntax of
 * LeakSanitizer (clang's documentation, LeakSanitizer, "Suppressions"): docs/options.md,
 * "Stacks to show". ERROR_USAGE: the file cannot be read, has 1 MiB or more, or has a
 * wrong line; the message names the file and the line.
 */
struct error *report_filter_read(struct report_filter *filter, enum filter_use use,
				 const char *path) __attribute__((warn_unused_result));

/* Hide frames that do not help to find where memory went: how programs and threads begin,
 * and allocation on behalf of operators and containers. report_filter_noise has their
 * patterns, ended by NULL. */
struct error *report_filter_hide_noise(struct report_filter *filter)
	__attribute__((warn_unused_result));
extern const char *const report_filter_noise[];

/* The glob of a pattern of FILTER_KEEP, in the order of report_filter_add(). NULL: there
 * are not so many. */
const char *report_filter_kept(const struct report_filter *filter, size_t index);

/* True if the filter shows all stacks, so that none has to be compared. */
bool report_filter_keeps_all(const struct report_filter *filter);

/* Compare a frame with all patterns. Returns a set of enum filter_match. Sets
 * frame->hidden. */
unsigned report_filter_match(const struct report_filter *filter,
			     struct report_frame *frame);

/* The decision about a stack whose frames match `matches`. */
enum filter_verdict {
	FILTER_SHOWN,
	FILTER_LEFT_OUT,
	FILTER_SUPPRESSED
};
enum filter_verdict report_filter_judge(const struct report_filter *filter,
					unsigned matches);

#endif
