/* SPDX-License-Identifier: Apache-2.0 */
/* BPF_LINK_CREATE for uprobes through bpf(2): libbpf 1.1 does not support
 * uprobe_multi. */
#ifndef BPF_LINK_H
#define BPF_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Attach `program` at `count` file offsets of `path`, for the process `pid` (0: all
 * processes), by ATTACH_TYPE_UPROBE_MULTI or _SESSION. `ref_ctrs` are file offsets of
 * reference counters (0: none). `ref_ctrs` and `cookies` may be NULL. Returns a link
 * descriptor or -errno.
 */
int link_uprobe_multi(int program, uint32_t attach_type, const char *path,
		      const uint64_t offsets[], const uint64_t ref_ctrs[],
		      const uint64_t cookies[], size_t count, bool is_return, int pid);

/* Attach `program` to a perf event. Returns a link descriptor or -errno. */
int link_perf_event(int program, int event, uint64_t cookie);

/* Close many links, or perf events of uprobes, in parallel: each close waits 35-96 ms for
 * RCU grace periods in the kernel. No signal to this process interrupts the closes
 * (bpf/shield.h). While a process holds its mmap_lock, they are left to another process
 * (bpf/late_close.h). */
void link_close_all(const int fds[], size_t count);

/* The same, without waiting for the last closes. link_close_wait() waits for them. This
 * process must not fork in between: the child would have copies of the descriptors. */
void link_close_begin(const int fds[], size_t count);
void link_close_wait(void);

/* Call this when link_close_all() leaves links to another process for the first time,
 * with the process that holds its lock; from any thread. NULL: nothing is said. */
void link_warn_late(void (*warn)(int pid));

#endif
