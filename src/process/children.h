/* SPDX-License-Identifier: Apache-2.0 */
/* Find the running descendants of given processes. */
#ifndef PROCESS_CHILDREN_H
#define PROCESS_CHILDREN_H

#include <stdbool.h>
#include <stddef.h>

#include "util/error.h"
#include "util/vec.h"

struct children {
	VEC(int) pids; /* by generation, and by parent and pid within one */
};

/*
 * Find the children of the `count` processes in `pids`, the children's children and so
 * on, by the parents that /proc/PID/stat names now. Left out are `pids` themselves,
 * zombies, the calling process and its descendants. A child whose parent has exited has
 * a new parent (proc_pid_stat(5)), so it is not found. ERROR_IO: /proc cannot be
 * listed.
 */
struct error *children_find(const int pids[], size_t count, struct children *ret)
	__attribute__((warn_unused_result));

/* Has the process executed a program since it was forked? False also if it has ended.
 * *parent (may be NULL) is set to its parent, or 0. */
bool children_has_executed(int pid, int *parent);

void children_deinit(struct children *children);

#endif
