/* SPDX-License-Identifier: Apache-2.0 */
/* A system call that another process makes, as code that took it over would. */
#ifndef LIVE_INJECT_H
#define LIVE_INJECT_H

#include <sys/types.h>

/*
 * Let the main thread of `pid`, which waits in a system call, make the call `number` with
 * a path (NULL: 0) as its first argument, and go on with its own after that. Returns what
 * the kernel answers: a negative errno value on failure. x86_64 only.
 */
long inject(pid_t pid, long number, const char *path, long second, long third);

#endif
