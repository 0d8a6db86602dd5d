/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's return probes as a target sees them. While a probed function runs, the
 * kernel replaces its return address on the stack by the address of a trampoline: the
 * start of the mapping "[uprobes]". Unwinders, debuggers and C++ exceptions stop there.
 */
#ifndef LIVE_TRAMPOLINE_H
#define LIVE_TRAMPOLINE_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Stop the process, a child of the caller. Count the words on its threads' stacks, from
 * the stack pointer up, that equal the trampoline's address. Then continue it. Returns 0
 * if the process has no trampoline or has ended. May count a stale word if the process
 * had a return probe earlier: uninitialized variables keep old stack contents.
 */
unsigned trampoline_found(pid_t pid);

/*
 * Start to count returns through the trampoline by this thread (0: the caller) and by
 * threads and processes that it starts later, except those named "memtrace". Returns a
 * file descriptor. Returns -1, with a note on stdout, if the uretprobe system call is
 * missing (x86-64, Linux 6.11).
 */
int trampoline_open(pid_t tid);
uint64_t trampoline_returns(int fd);

/* How many links of the process `pid` attach return probes (uprobe_multi; needs fdinfo of
 * Linux 6.6). Probes of other tracers are not counted. */
unsigned trampoline_links(pid_t pid);

#endif
