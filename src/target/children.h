/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that others have forked and that still run. */
#ifndef TARGET_CHILDREN_H
#define TARGET_CHILDREN_H

#include <stddef.h>

#include "util/error.h"
#include "util/vec.h"

struct children {
	VEC(int) pids; /* generation by generation, those of one in order */
};

/*
 * Find the children of `pids` (`count` of them), and those of the children and so on,
 * which are none of `pids`, as /proc/PID/stat names parents now. Zombies are none, and
 * neither is the calling process, nor what it has forked. Children whose parent has
 * exited have another one (proc_pid_stat(5)), so are not found. ERROR_IO: /proc cannot be
 * listed.
 */
struct error *children_find(const int pids[], size_t count, struct children *ret)
	__attribute__((warn_unused_result));
void children_deinit(struct children *children);

#endif
