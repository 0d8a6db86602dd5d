/* SPDX-License-Identifier: Apache-2.0 */
/* When memtrace returns the memory of a report to the kernel. malloc keeps everything
 * that the report and the symbols of exited processes used, which is many times what
 * remains. */
#ifndef SESSION_TRIM_H
#define SESSION_TRIM_H

#include <stdbool.h>
#include <stdint.h>

#include "snapshot/snapshot.h"

/* Zeroed: nothing was returned yet. */
struct trim {
	bool is_small;    /* of the last snapshot: blocks and frames are few */
	uint64_t last_ns; /* when memory was last returned, CLOCK_MONOTONIC */
};

/* The snapshot of a report, before it is destroyed. */
void trim_note(struct trim *trim, const struct snapshot *snap);

/*
 * Return memory now? `is_quiet`: nothing was allocated or freed since the report before.
 * Then the next report needs the same pages again, and each costs a page fault. So
 * memtrace keeps the memory of small reports for up to a minute.
 */
bool trim_is_due(struct trim *trim, bool is_quiet, uint64_t now_ns);

#endif
