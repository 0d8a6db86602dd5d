/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes system calls that a fatal signal to this process cannot interrupt.
 *
 * To set or remove the breakpoint of a uprobe the kernel writes to the memory of each
 * process that maps the file. The write fails with EINTR if the calling task has a fatal
 * signal pending (__get_user_pages() of mm/gup.c). The kernel then leaves the breakpoints
 * in place and logs "leaking uprobe" (uprobe_unregister_nosync() of
 * kernel/events/uprobes.c). They cost the target a trap at each call for the rest of its
 * life. When a task exits and its descriptors are closed, no signal is pending any more.
 *
 * So tasks that are not threads of this process make these calls. They share its memory
 * and its descriptors, and survive its death.
 */
#ifndef BPF_SHIELD_H
#define BPF_SHIELD_H

#include <stddef.h>

/* Tasks that run at the same time. */
#define SHIELD_MAX 64

/*
 * Call run(arg, i) for each i below `count` in parallel, and wait for all calls to
 * return. `count` is at most SHIELD_MAX. A task shares the caller's thread-local storage:
 * from the C library it may use only syscall(2). If the kernel cannot create a task, the
 * calling thread does its work.
 */
void shield_run(size_t count, void (*run)(void *arg, size_t i), void *arg);

#endif
