/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps breakpoints in a process whose main thread has exited, by disabled perf events of
 * a live thread; for attach_multi.c. docs/mechanisms.md, "A process whose main thread has
 * exited", says why. If threads end before an event can be opened for them, the events
 * are opened for all processes.
 */
#ifndef ATTACH_ATTACH_HOLD_H
#define ATTACH_ATTACH_HOLD_H

#include "attach/attach.h"

/* Record the places of the probes of the process `pid`. */
struct error *attach_hold_note(struct attachment *self, int pid,
			       const struct attach_probe probes[], size_t count)
	__attribute__((warn_unused_result));

/* Open an event at each recorded place that has no event with a live thread. */
struct error *attach_hold(struct attachment *self, int pid)
	__attribute__((warn_unused_result));

/* Drop recorded places and close their events: the places from index `first` on, or the
 * places of the process `pid` (0: all). */
void attach_hold_remove_from(struct attachment *self, size_t first);
void attach_hold_remove(struct attachment *self, int pid);

#endif
