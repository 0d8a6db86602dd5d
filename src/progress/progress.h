/* SPDX-License-Identifier: Apache-2.0 */
/* A line on the terminal that says what memtrace is doing and disappears when that is
 * done. Also tells whether the user is waiting for the run to end. */
#ifndef PROGRESS_PROGRESS_H
#define PROGRESS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "report/report.h"

struct waiter;

struct progress {
	FILE *out;    /* NULL: say nothing */
	bool showing; /* the line is visible */
	const struct waiter
		*waiter; /* for progress_stopping_ns(); borrowed; NULL: always 0 */
};

/* Show progress on stderr, if that is a terminal and `quiet` is not set. */
void progress_init(struct progress *progress, bool quiet);

/* Replace the line with `phase`. `arg` is the struct progress. */
void progress_show(void *arg, const char *phase);

/* Replace the line with `text`, which stays until the next one or progress_clear(). */
void progress_stay(struct progress *progress, const char *text);

/* Say how the run is going: what is live, what was lost, and the time until its end
 * (`duration_ns`, 0: no end is set). */
void progress_report(struct progress *progress, const struct report *report,
		     uint64_t duration_ns);

/* Erase what the terminal has put on the line itself: "^C". */
void progress_erase_echo(struct progress *progress);

/* Time since a signal asked for the end of the run, ns; 0: none has. Code that waits for
 * other processes then gives up. `arg` is the struct progress. */
uint64_t progress_stopping_ns(void *arg);

/* Remove the line. */
void progress_clear(struct progress *progress);

#endif
