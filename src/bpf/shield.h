/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes system calls that a fatal signal to this process cannot interrupt. The kernel
 * would leave breakpoints in the targets if the call that removes them were interrupted
 * (docs/mechanisms.md, "Kernel calls that wait"). So tasks that are not threads of this
 * process make these calls. They share its memory and its descriptors, and survive its
 * death.
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

struct shield;

/* The same, without waiting: the caller must pass the result to shield_wait(), which
 * waits. `arg` must live until then. NULL: no memory, and nothing was called. */
struct shield *shield_start(size_t count, void (*run)(void *arg, size_t i), void *arg);
void shield_wait(struct shield *shield);

#endif
