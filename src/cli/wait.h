/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for what comes first: a signal, the interval, the end of the run, something to
 * look at. */
#ifndef CLI_WAIT_H
#define CLI_WAIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "report/report.h"
#include "util/error.h"

struct stop_watch;

struct waiter {
	int signal_fd, interval_fd, duration_fd; /* -1: none */
	int wake_fd;                             /* borrowed */
	struct stop_watch *stops;                /* NULL: none */
	/* The signal that ended the run, if it was sent to us alone and not to the whole
	 * foreground group of the terminal; else 0. */
	int stop_signal;
};

/* One that waits for nothing yet, for waiter_deinit(). */
#define WAITER_NONE                                                                      \
	(struct waiter)                                                                  \
	{                                                                                \
		.signal_fd = -1, .interval_fd = -1, .duration_fd = -1, .wake_fd = -1     \
	}

/*
 * Take SIGINT, SIGTERM, SIGHUP and SIGUSR1 out of ordinary delivery, so that from here
 * on they wait for waiter_next(), and ignore SIGPIPE and SIGXFSZ. A second SIGINT or
 * SIGTERM ends the process at once (stop_watch.h). Call it before anything that has to be
 * undone, and after a command was started, which would ignore them too.
 */
struct error *waiter_init(struct waiter *waiter) __attribute__((warn_unused_result));

/* Start the clocks: reports each `interval_ns`, the end after `duration_ns` (0: none).
 * When `wake_fd` is readable waiter_next() returns. */
struct error *waiter_start(struct waiter *waiter, int wake_fd, uint64_t interval_ns,
			   uint64_t duration_ns) __attribute__((warn_unused_result));

/* A second signal is passed on to this child, which has not been waited for yet. */
void waiter_pass_to(struct waiter *waiter, pid_t child);

/* Has the first signal that stops the run come 5 s ago or earlier? */
bool waiter_is_late(const struct waiter *waiter);

/* From here on any signal that stops a run ends the process at once. If a second one is
 * there already it ends now. */
void waiter_unblock(struct waiter *waiter);

/* As waiter_unblock(), but a second signal that is there does not end the process. */
void waiter_deinit(struct waiter *waiter);

/*
 * Wait at most `timeout_ms` (-1: for ever), or until wake_fd is readable. True when there
 * is a cause for a report; ends of the run come before the interval when both are due.
 */
bool waiter_next(struct waiter *waiter, int timeout_ms, enum report_cause *ret);

#endif
