/* SPDX-License-Identifier: Apache-2.0 */
/* BPF_LINK_CREATE for uprobes, by bpf(2) itself: libbpf 1.1 has no uprobe_multi. */
#ifndef BPF_LINK_H
#define BPF_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Put `program` at `count` file offsets of `path`, for the process `pid` (0: all), by
 * ATTACH_TYPE_UPROBE_MULTI or _SESSION. `ref_ctrs` (file offsets of
 * counters, 0: none) and `cookies` may be NULL. A link descriptor, or
 * -errno.
 */
int link_uprobe_multi(int program, uint32_t attach_type, const char *path,
		      const uint64_t offsets[], const uint64_t ref_ctrs[],
		      const uint64_t cookies[], size_t count, bool is_return, int pid);

/* Put `program` on a perf event. A link descriptor, or -errno. */
int link_perf_event(int program, int event, uint64_t cookie);

/* Close links, or events of uprobes, many at once: each close waits 35-96 ms for the
 * kernel's grace periods. No signal to this process interrupts it (bpf/shield.h). */
void link_close_all(const int fds[], size_t count);

#endif
