/* SPDX-License-Identifier: Apache-2.0 */
/* Child processes that ran before memtrace started, which --follow-forks does not
 * trace. */
#ifndef TRACEES_FORKED_H
#define TRACEES_FORKED_H

#include "options/options.h"
#include "process/children.h"
#include "util/error.h"

/*
 * With --follow-forks and --pid: find the children that the processes forked before
 * memtrace started. Only later forks are followed. Without these options, with
 * --follow-exec-of, or if /proc cannot be listed, `ret` is empty. The caller calls
 * children_deinit() on it.
 */
struct error *forked_find(const struct options *options, struct children *ret)
	__attribute__((warn_unused_result));

/* If there are any, print one line: how many, some of their pids, and what to do. */
void forked_say(const struct children *children);

#endif
