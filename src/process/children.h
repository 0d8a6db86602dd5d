/* SPDX-License-Identifier: Apache-2.0 */
/* Find the running descendants of given processes. */
#ifndef PROCESS_CHILDREN_H
#define PROCESS_CHILDREN_H

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
void children_deinit(struct children *children);

#endif
