/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Breakpoints for the links of a process whose first thread has ended, for
 * attach_multi.c. The kernel sets them where the memory of a link's task is, which is the
 * first thread's and has none any more (uprobe_multi_link_filter(),
 * kernel/trace/bpf_trace.c); yet it runs the link's program for hits of all threads of
 * the process. Those that are there stay, but any other tracer that leaves takes them
 * away, and a file that is mapped later gets none. So somebody who wants them is needed:
 * disabled perf events of a thread that lives. Where threads end sooner than an event is
 * opened they are of all processes.
 */
#ifndef BPF_ATTACH_HOLD_H
#define BPF_ATTACH_HOLD_H

#include "bpf/attach.h"

/* Remember where there are probes for the process `pid`. */
struct error *attach_hold_note(struct attachment *self, int pid,
			       const struct attach_probe probes[], size_t count)
	__attribute__((warn_unused_result));

/* Have breakpoints at all these places; what has them already stays as it is. */
struct error *attach_hold(struct attachment *self, int pid)
	__attribute__((warn_unused_result));

/* Forget the places from number `first` on; those of the process `pid`, or all (0). */
void attach_hold_forget_from(struct attachment *self, size_t first);
void attach_hold_forget(struct attachment *self, int pid);

#endif
