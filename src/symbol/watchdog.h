/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libbcc opens files by names that the target chose (debuglinks, /tmp/perf-PID.map)
 * without O_NONBLOCK: a FIFO there would keep memtrace for ever. The watchdog interrupts
 * system calls of this thread (open(2) and read(2) then fail with EINTR, which libbcc
 * takes for a file that is not there) when a call into libbcc takes seconds.
 */
#ifndef SYMBOL_WATCHDOG_H
#define SYMBOL_WATCHDOG_H

#include <stdbool.h>
#include <time.h>

struct watchdog {
	timer_t timer;
	bool exists;     /* without a timer nothing is watched */
	bool has_barked; /* from then on there is less patience */
};

/* For calls made by the thread that calls this. Takes the signal SIGRTMIN + 3. */
void watchdog_init(struct watchdog *watchdog);
void watchdog_deinit(struct watchdog *watchdog);

/* From begin to end the calling thread is watched. Nests not. */
void watchdog_begin(struct watchdog *watchdog);
void watchdog_end(struct watchdog *watchdog);

#endif
