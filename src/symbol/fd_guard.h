/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protects this process's descriptors while libbcc makes or frees a symcache, when some
 * versions may close() any of them: docs/mechanisms.md, "Names of functions". The guard
 * also keeps libbcc's warnings, which contain raw paths of the target, from stdout and
 * stderr.
 */
#ifndef SYMBOL_FD_GUARD_H
#define SYMBOL_FD_GUARD_H

#include "util/error.h"
#include "util/vec.h"

struct fd_list {
	VEC(int) fds;
};

struct fd_guard {
	struct fd_list before; /* descriptors open at the beginning */
	int out, err;          /* duplicates of the real stdout and stderr, or -1 */
};

/* Until fd_guard_end() this thread cannot close any descriptor that is open now, and
 * descriptors 1 and 2 are /dev/null. Locks the descriptor table (util/fd_table.h). */
struct error *fd_guard_begin(struct fd_guard *guard) __attribute__((warn_unused_result));

/* Descriptors opened since fd_guard_begin() stay open, and are set to close on exec.
 * They are stored in `ret_opened` (an empty list, or NULL); none when out of memory or
 * without /proc. */
void fd_guard_end(struct fd_guard *guard, struct fd_list *ret_opened);

/* Let libbcc close these descriptors: they are its own. */
void fd_guard_except(struct fd_guard *guard, const struct fd_list *own);

#endif
