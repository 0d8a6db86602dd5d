/* SPDX-License-Identifier: Apache-2.0 */
/* Closes links and perf events in another process, which this one does not wait for. */
#ifndef BPF_LATE_CLOSE_H
#define BPF_LATE_CLOSE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Close the descriptors, of links or of perf events with uprobes. The last close removes
 * their probes, which may take long. A process makes it that survives this one, as soon
 * as no process holds its mmap_lock (bpf/mm_locks.h). False: this process cannot be
 * started, and nothing is closed.
 */
bool late_close(const int fds[], size_t count);

#endif
