/* SPDX-License-Identifier: Apache-2.0 */
/* Start a program that has lost some of its blocks (targets/holder.c). */
#ifndef LIVE_SEARCHED_H
#define LIVE_SEARCHED_H

#include "live/trace.h"

/* Start it, trace it with these options, and let it lose them. */
static inline struct live_process *searched_start(const char *options,
						  struct live_process **target)
{
	struct live_process *memtrace;

	*target = target_start(HOLDER_BINARY);
	memtrace = memtrace_start(live_pid(*target), options);
	oracle_do(*target, "make");
	return memtrace;
}

#endif
