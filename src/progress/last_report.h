/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report of a run whose main thread is stuck (progress/stuck.h). The main thread is
 * parked (progress/park.h), and a fork of this process makes the report: it has the main
 * thread's data as it is, and may be killed if it hangs, too. If it takes too long to
 * find names for frames, a second child uses only the names that were known.
 */
#ifndef PROGRESS_LAST_REPORT_H
#define PROGRESS_LAST_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "progress/stuck.h"
#include "util/error.h"

struct last_report_options {
	int signal;          /* that ended the run */
	const char *reading; /* what the main thread is stuck in (stuck_describe()) */
	bool is_named;       /* look for names */
};

enum last_report_result {
	LAST_REPORT_DONE,
	LAST_REPORT_FAILED,
	LAST_REPORT_AGAIN, /* a thread was just changing what the report needs */
};

/* Called in the child to make the report. */
typedef enum last_report_result (*last_report_fn)(
	void *arg, const struct last_report_options *options);

struct last_report {
	last_report_fn make; /* NULL: there is nothing to report; accessed atomically */
	void *arg;
	bool *is_begun; /* output of the final report has begun; shared with the child */
	struct last_report_options options;
	char reading[512]; /* copy of options.reading */
	unsigned tries;
	pid_t pid;         /* the child; 0: none */
	int pidfd;         /* of the child; -1: none */
	uint64_t until_ns; /* when the child is killed, CLOCK_MONOTONIC */
};

/* Without anything to report. */
struct error *last_report_init(struct last_report *last)
	__attribute__((warn_unused_result));
/* Kill the child, if there is one. The main thread may still run. */
void last_report_kill(struct last_report *last);
/* The same, and free the rest. */
void last_report_deinit(struct last_report *last);

/* From now on a report can be made, by make(arg). */
void last_report_permit(struct last_report *last, last_report_fn make, void *arg);

/* The main thread or the child begins to write the final report. There must not be
 * another one. */
void last_report_begin(struct last_report *last);
bool last_report_is_begun(const struct last_report *last);

/* Start the child. `first_ns` (CLOCK_MONOTONIC, when the first signal came) is changed in
 * the child, so that it has time left. The main thread must be parked. False: there is
 * nothing to report, or no child could be started. */
bool last_report_start(struct last_report *last, const struct stuck *stuck, int signal,
		       uint64_t *first_ns);

/* Look at the child, kill it if its time is over, and start another if that makes sense.
 * False: it is over. Call it often, and when `pidfd` is readable. */
bool last_report_goes_on(struct last_report *last, uint64_t *first_ns);

#endif
