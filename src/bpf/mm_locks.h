/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds processes that do not let the kernel into their address space: a thread holds the
 * process's mmap_lock for long. Look before setting or removing a probe, and do neither
 * while a lock is held: the kernel would wait, and no process of the machine could fork
 * (docs/mechanisms.md, "Kernel calls that wait").
 */
#ifndef BPF_MM_LOCKS_H
#define BPF_MM_LOCKS_H

#include <stdint.h>

#include "util/error.h"

/* The patience for setting and for removing a probe, ns. A process with much memory may
 * hold its lock for a second, as in fork(2). */
#define MM_LOCKS_SET_NS    UINT64_C(3000000000)
#define MM_LOCKS_REMOVE_NS UINT64_C(300000000)

/*
 * Find a process of the machine that holds its lock for longer than `patience_ns`.
 * Returns its pid; 0: not found, or the search failed. Only processes that /proc shows
 * are searched. If a search in the last 50 ms found none, returns 0 at once.
 */
int mm_locks_find_held(uint64_t patience_ns);

/* Wait until each process has let its lock go once. Uses nothing but syscall(2). */
void mm_locks_wait(void);

/* Look before setting a probe. An error names the process. */
struct error *mm_locks_check(uint64_t patience_ns) __attribute__((warn_unused_result));

/* "process N (name)", for messages. Owned by the caller; NULL: no memory. */
char *mm_locks_holder(int pid) __attribute__((warn_unused_result));

#endif
