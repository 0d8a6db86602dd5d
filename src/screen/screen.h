/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --live: a process that shows snapshots on the terminal and answers keys. It is a child
 * of memtrace that has given up root and all privileges, since it handles names that the
 * target chose. Snapshots reach it as files in memory, as --save writes them. So it makes
 * the reports itself, and the tracing process does not wait for it. Each of the two
 * restores the terminal if the other one dies.
 */
#ifndef SCREEN_SCREEN_H
#define SCREEN_SCREEN_H

#include <stdbool.h>
#include <stdint.h>

#include "options/options.h"
#include "output/report_setup.h"
#include "snapshot/snapshot.h"
#include "util/error.h"

struct screen;

/* Are standard input and output a terminal that can show the screen? */
bool screen_is_possible(void);

/*
 * Start the process, which shows nothing before the first snapshot. With options->replay
 * it reads that snapshot itself. *ret is NULL if the terminal is not there, cannot place
 * the cursor or is too small: then a line on standard error says so, and the caller
 * prints reports instead. To be called before privileges are given up and before threads
 * are started. `options` and `setup` are borrowed.
 */
struct error *screen_start(const struct options *options,
			   const struct report_setup *setup, struct screen **ret)
	__attribute__((warn_unused_result));

/* Readable when screen_answer() has something to tell. Borrowed. */
int screen_fd(const struct screen *screen);

enum screen_answer {
	SCREEN_NOTHING,
	SCREEN_QUIT,     /* the user has ended the run */
	SCREEN_INTERVAL, /* wants other intervals */
	SCREEN_FAILED,   /* the process has died or could not read the snapshot */
};

/* What the user wants. Does not wait, but stops memtrace if the user suspends it. *ret:
 * of SCREEN_INTERVAL, ns. */
enum screen_answer screen_answer(struct screen *screen, uint64_t *ret);

/* Is the process ready for a snapshot? It is not if it still reads the last one, or if
 * the user has frozen the screen. */
bool screen_is_ready(const struct screen *screen);

/* Show a snapshot that has its names (report/recorded.h). With the first one, messages on
 * standard error go to the screen from now on. Only if the screen is ready. */
struct error *screen_give(struct screen *screen, const struct snapshot *snap)
	__attribute__((warn_unused_result));

/* Tell the screen that no snapshots follow. */
void screen_ended(struct screen *screen);

/* End the process, restore the terminal, and print the messages that the screen has
 * shown. NULL does nothing. */
void screen_stop(struct screen *screen);

/* Look around in options->replay until the user quits. *ret: the plain report is to be
 * printed now. */
struct error *screen_replay(const struct options *options,
			    const struct report_setup *setup, bool *ret)
	__attribute__((warn_unused_result));

#endif
