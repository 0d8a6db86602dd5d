/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's return probes as a target sees them: while a probed function runs, its
 * return address on the stack is that of a trampoline, the start of the mapping
 * "[uprobes]". Unwinders, debuggers and C++ exceptions end there.
 */
#ifndef LIVE_TRAMPOLINE_H
#define LIVE_TRAMPOLINE_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Stop the process, a child, and count the words on its threads' stacks, from the stack
 * pointer up, that are the trampoline's address; then let it go on. 0 as well when it has
 * no trampoline, or has ended. Return probes that were removed meanwhile may have left
 * such words where nobody reads them any more.
 */
unsigned trampoline_found(pid_t pid);

/*
 * Count the returns through the trampoline from now on, of this thread and of those that
 * it will start. A file descriptor, or -1 with a note on stdout: before Linux 6.11, and
 * but on x86-64, such returns are no system calls that could be counted.
 */
int trampoline_open(pid_t tid);
uint64_t trampoline_returns(int fd);

#endif
