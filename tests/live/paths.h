/* SPDX-License-Identifier: Apache-2.0 */
/* The stacks of the oracle's command "paths" in a report. */
#ifndef LIVE_PATHS_H
#define LIVE_PATHS_H

#include "live/live.h"

#include <jansson.h>

/* Checks that each of the first `paths` paths has one row, with `times` blocks of its
 * size, and that nothing was lost. */
void paths_check(const json_t *report, int paths, int times);

/* Frees all blocks, so that the final report is short (parsing 12,000 stacks takes
 * seconds), and ends both. Checks that no block is left. */
void paths_stop(struct live_process *oracle, struct live_process *memtrace);

#endif
