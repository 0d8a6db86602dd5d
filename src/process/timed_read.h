/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the mappings of a process that may hold the lock of its address space for ever,
 * as a thread in mmap(2) of a file whose server does not answer. Reading /proc/PID/maps
 * waits for this lock, and only a fatal signal ends the wait (m_start() in
 * fs/proc/task_mmu.c). So a task of its own reads them, which can be killed alone.
 */
#ifndef PROCESS_TIMED_READ_H
#define PROCESS_TIMED_READ_H

#include <stdbool.h>
#include <stddef.h>

/* From now on timed_read() waits only for a time, in this process. Not in its children,
 * which may have filters that allow no further task. */
void timed_read_enable(void);

/*
 * procfs_read() of /proc/PID/maps; `tid` is the process or a thread of it. Returns
 * ETIMEDOUT if it waits for a lock for a second. Then the process is left alone for some
 * seconds: calls return ETIMEDOUT at once. If many processes hold their locks, it waits
 * less for each. May be called by any thread.
 */
int timed_read_maps(int tid, size_t limit_bytes, char **ret, size_t *ret_size)
	__attribute__((warn_unused_result));

/* Does timed_read_maps() return ETIMEDOUT? For other accesses that wait for the lock, as
 * to /proc/PID/map_files. The process may take the lock right after the call. */
bool timed_read_would_fail(int tid);

#endif
