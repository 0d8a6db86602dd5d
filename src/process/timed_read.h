/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accesses to a process that may hold the lock of its address space for ever
 * (docs/mechanisms.md, "Kernel calls that wait"). Threads make these accesses
 * (util/lanes.h), and the caller waits only for a time. Until a thread that still waits
 * returns, all calls for that process return ETIMEDOUT at once. Then it serves again.
 * Before timed_read_enable(), and in children, the calling thread makes the accesses.
 */
#ifndef PROCESS_TIMED_READ_H
#define PROCESS_TIMED_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* From now on the functions below wait only for a time, in this process. */
void timed_read_enable(void);

/* procfs_read() of /proc/TID/maps; `tid` is the process or a thread of it. Returns
 * ETIMEDOUT if the lock is held. */
int timed_read_maps(int pid, int tid, size_t limit_bytes, char **ret, size_t *ret_size)
	__attribute__((warn_unused_result));

/* open(2) of a path below /proc/PID. -1 with errno set: ETIMEDOUT if the lock is held. */
int timed_read_open(int pid, const char *path, int flags);

/* process_vm_readv(2) of one range. -1 with errno set: ETIMEDOUT if the lock is held. */
ssize_t timed_read_memory(int pid, int tid, uint64_t address, void *ret, size_t size);

/* Is the lock held? For accesses that the caller makes itself. The process may take the
 * lock right after the call. */
bool timed_read_would_wait(int pid, int tid);

#endif
