/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The signals that stop a run: SIGINT, SIGTERM and SIGHUP (docs/options.md, "The end of a
 * run"). A thread receives them, so that they work even while the main thread hangs in a
 * system call. The first signal goes to the main thread; if it is stuck in a read
 * (progress/stuck.h), a child makes the report (progress/last_report.h). A second SIGHUP
 * is ignored: a terminal and its shell both send one.
 */
#ifndef PROGRESS_STOP_WATCH_H
#define PROGRESS_STOP_WATCH_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "progress/last_report.h"
#include "util/error.h"

struct stop_watch;

/* Watch for these signals. All threads must block them. */
struct error *stop_watch_create(const sigset_t *signals, struct stop_watch **ret)
	__attribute__((warn_unused_result));

/* Like a signalfd(2), readable when the first signal has arrived. Non-blocking;
 * borrowed. */
int stop_watch_fd(const struct stop_watch *watch);

/* When the first signal arrived, CLOCK_MONOTONIC ns; 0: none has arrived. */
uint64_t stop_watch_first_ns(const struct stop_watch *watch);

/* The main thread waits for the next thing to do, or goes on: while it waits it cannot be
 * stuck, and is not looked at. */
void stop_watch_set_idle(struct stop_watch *watch, bool is_idle);

/* If a second signal ends the process, forward to this child the last signal that was
 * sent to memtrace alone. The child must not have been waited for yet. */
void stop_watch_pass_to(struct stop_watch *watch, pid_t child);

/* What is reported if the main thread is stuck. Borrowed. */
struct last_report *stop_watch_last(struct stop_watch *watch);

/* Stop watching. Returns a signal that was about to end the process, or 0. NULL
 * does nothing. */
int stop_watch_destroy(struct stop_watch *watch);

#endif
