/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for the next thing to do: a signal, the report interval, the end of the run, or
 * an event of the tracees. */
#ifndef PROGRESS_WAIT_H
#define PROGRESS_WAIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "progress/last_report.h"
#include "report/report.h"
#include "util/error.h"

struct stop_watch;

struct waiter {
	int signal_fd, interval_fd, duration_fd; /* -1: none */
	int ask_fd;                              /* the same; -1: none. May be set at any
						    time */
	int wake_fd;                             /* borrowed; waiter_next() returns when
						    it is readable */
	int screen_fd; /* borrowed; likewise; -1: none. May be set at any time */
	struct stop_watch *stops; /* NULL: none */
	/* The signal that ended the run, if it was sent to memtrace alone and not to the
	 * whole foreground process group of the terminal; else 0. */
	int stop_signal;
};

/* A waiter that waits for nothing yet; waiter_deinit() accepts it. */
#define WAITER_NONE                                                                      \
	(struct waiter)                                                                  \
	{                                                                                \
		.signal_fd = -1, .interval_fd = -1, .duration_fd = -1, .wake_fd = -1,    \
		.ask_fd = -1, .screen_fd = -1                                            \
	}

/*
 * Block SIGINT, SIGTERM, SIGHUP and SIGUSR1, so that from here on they are delivered to
 * waiter_next(), and ignore SIGPIPE and SIGXFSZ. A second SIGINT or SIGTERM ends the
 * process at once (stop_watch.h). Call it before doing anything that must be undone, and
 * after starting a command, which would otherwise ignore these signals too.
 */
struct error *waiter_init(struct waiter *waiter) __attribute__((warn_unused_result));

/* Start the timers: a report every `interval_ns`, the end after `duration_ns` (0: no
 * limit). waiter_next() returns when `wake_fd` is readable. */
struct error *waiter_start(struct waiter *waiter, int wake_fd, uint64_t interval_ns,
			   uint64_t duration_ns) __attribute__((warn_unused_result));

/* Change the time between reports; the next one is due when it has passed. */
void waiter_set_interval(struct waiter *waiter, uint64_t interval_ns);

/* Forward a second signal to this child, which must not have been waited for yet. */
void waiter_pass_to(struct waiter *waiter, pid_t child);

/* Time since the first signal that stops the run arrived, ns; 0: none has. */
uint64_t waiter_stopping_ns(const struct waiter *waiter);

/* If the main thread is stuck when a signal ends the run, make(arg) makes the report
 * (last_report.h). */
void waiter_permit_last(struct waiter *waiter, last_report_fn make, void *arg);
/* The final report begins to be written: make() is not called any more. */
void waiter_begin_last(struct waiter *waiter);

/* From here on any stop signal ends the process at once. If a second one has already
 * arrived, the process ends now. */
void waiter_unblock(struct waiter *waiter);

/* As waiter_unblock(), but a second signal that has already arrived does not end the
 * process. */
void waiter_deinit(struct waiter *waiter);

/*
 * Wait until something happens, at most `timeout_ms` (-1: no limit). True: a report is
 * due, for the cause in *ret. If the end of the run and the interval are both due, the
 * end wins.
 */
bool waiter_next(struct waiter *waiter, int timeout_ms, enum report_cause *ret);

#endif
