/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The signals that stop a run: SIGINT, SIGTERM and SIGHUP. A thread takes them, so that
 * they count whatever the main thread does, also when it hangs in a system call. The
 * first one is passed to the main thread, which ends the run with a report. A second
 * SIGINT or SIGTERM ends the process, with all probes and temporary files gone. A second
 * SIGHUP does nothing: a terminal and its shell both send one.
 */
#ifndef CLI_STOP_WATCH_H
#define CLI_STOP_WATCH_H

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/error.h"

struct stop_watch;

/* Watch for these signals, which all threads have to block. */
struct error *stop_watch_create(const sigset_t *signals, struct stop_watch **ret)
	__attribute__((warn_unused_result));

/* Readable, as a signalfd(2) is, when the first signal has arrived. Does not block;
 * borrowed. */
int stop_watch_fd(const struct stop_watch *watch);

/* When the first signal arrived, CLOCK_MONOTONIC ns; 0: none has. */
uint64_t stop_watch_first_ns(const struct stop_watch *watch);

/* When a second signal ends the process, pass on to this child the last signal that was
 * sent to the process alone. The child has not been waited for yet. */
void stop_watch_pass_to(struct stop_watch *watch, pid_t child);

/* Watch no more. Returns a second signal that was about to end the process, or 0. NULL is
 * fine. */
int stop_watch_destroy(struct stop_watch *watch);

#endif
