/* SPDX-License-Identifier: Apache-2.0 */
/* A line on the terminal that says what is going on, and goes away when it is done; and
 * whether the user waits for the run to end. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stdio.h>

struct waiter;

struct progress {
	FILE *out;    /* NULL: say nothing */
	bool showing; /* a line stands there */
	const struct waiter
		*waiter; /* for progress_is_late(); borrowed; NULL: never late */
};

/* Show progress on stderr, if that is a terminal and `quiet` is not set. */
void progress_init(struct progress *progress, bool quiet);

/* Show `phase` in place of what was there. `arg` is the struct progress. */
void progress_show(void *arg, const char *phase);

/* Has a signal asked for the end of the run some seconds ago? Then what waits for others
 * gives up. `arg` is the struct progress. */
bool progress_is_late(void *arg);

/* Take the line away. */
void progress_clear(struct progress *progress);

#endif
