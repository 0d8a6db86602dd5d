/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps this process's descriptors safe while libbcc makes or frees a symcache. From
 * 0.26 to 0.32 it may then close() a number read from uninitialized memory
 * (ModulePath::fd_, fixed in 0.33 by iovisor/bcc pull request 5193): a BPF link, or the
 * file that the report goes to. Where a guard is in force close() is ours, and refuses
 * the thread that began it what was open before. It also keeps libbcc's warnings, which
 * carry raw paths of the target, away from stdout and stderr.
 */
#ifndef SYMBOL_FD_GUARD_H
#define SYMBOL_FD_GUARD_H

#include "util/error.h"
#include "util/vec.h"

struct fd_list {
	VEC(int) fds;
};

struct fd_guard {
	struct fd_list before; /* what was open */
	int out, err;          /* the real stdout and stderr, or -1 */
};

/* From now on nothing that is open can be closed by this thread, and 1 and 2 are
 * /dev/null. Holds the table of descriptors (util/fd_table.h) until the end. */
struct error *fd_guard_begin(struct fd_guard *guard) __attribute__((warn_unused_result));

/* Descriptors opened since fd_guard_begin() stay open and are closed on exec. Which they
 * are goes into an empty list, or nowhere (NULL); without memory or /proc none. */
void fd_guard_end(struct fd_guard *guard, struct fd_list *ret_opened);

/* libbcc may close these: they are its own. */
void fd_guard_except(struct fd_guard *guard, const struct fd_list *own);

#endif
