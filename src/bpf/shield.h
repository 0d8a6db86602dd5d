/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls that a fatal signal to this process must not interrupt.
 *
 * To set or remove the breakpoint of a uprobe the kernel writes to the memory of each
 * process that maps the file. The write fails with EINTR if the calling task has a fatal
 * signal pending
 * (__get_user_pages() of mm/gup.c). The kernel then leaves the breakpoints where they
 * are, and logs "leaking uprobe" (uprobe_unregister_nosync() of kernel/events/uprobes.c):
 * they cost the target a trap at each call for the rest of its life. When a task exits,
 * and its descriptors are closed, no signal is pending any more.
 *
 * Tasks that are not threads of this process make such calls instead. They share its
 * memory and its descriptors, and go on when it dies.
 */
#ifndef BPF_SHIELD_H
#define BPF_SHIELD_H

#include <stddef.h>

/* Tasks that run at a time. */
#define SHIELD_MAX 64

/*
 * Call run(arg, i) for each i below `count`, all at the same time, and wait for the last
 * one. `count` is at most SHIELD_MAX. A task shares the caller's thread-local storage: it
 * may make system calls through syscall(2), and nothing else of the C library. Where the
 * kernel makes no task, the caller's thread does the work.
 */
void shield_run(size_t count, void (*run)(void *arg, size_t i), void *arg);

#endif
