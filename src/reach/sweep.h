/* SPDX-License-Identifier: Apache-2.0 */
/* Sweeps the memory of a stopped process on several processors, so that the stop is
 * short. */
#ifndef REACH_SWEEP_H
#define REACH_SWEEP_H

#include "reach/marks.h"
#include "reach/memory.h"

/*
 * Like reach_memory_sweep(), with a thread for each processor, at most REACH_SWEEPERS, if
 * there is enough memory to sweep. All blocks that are reached get into marks->todo, so
 * this is for few blocks. If no thread can be created, the calling thread does it alone.
 */
#define REACH_SWEEPERS 8
void reach_sweep(struct reach_memory *memory, const struct reach_regions *regions,
		 struct reach_marks *marks);

#endif
