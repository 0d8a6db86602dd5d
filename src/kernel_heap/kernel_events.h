/* SPDX-License-Identifier: Apache-2.0 */
/* Events of the kernel itself (tracepoints, kprobes, counters), as perf events for all
 * processes; the BPF program filters out processes that are not traced. An event for each
 * traced thread would not do: it would come too late for new threads. */
#ifndef KERNEL_HEAP_KERNEL_EVENTS_H
#define KERNEL_HEAP_KERNEL_EVENTS_H

#include <stdint.h>

#include "plan/event.h"
#include "util/error.h"
#include "util/vec.h"

struct kernel_events {
	VEC(int) fds;
};

/* The type that a program for the event must have (enum bpf_prog_type). */
uint32_t kernel_events_program_type(enum event_kind kind);

/* Run `program` at the event. Returns ERROR_NOT_FOUND if this kernel has no such
 * tracepoint or function (the message has the nearest names), ERROR_UNSUPPORTED if it has
 * no events of this kind, or ERROR_PERMISSION. */
struct error *kernel_events_attach(struct kernel_events *self,
				   const struct event_spec *spec, int program)
	__attribute__((warn_unused_result));

/* Check whether kernel_events_attach() would succeed, before anything is compiled. */
struct error *kernel_events_check(const struct event_spec *spec)
	__attribute__((warn_unused_result));

/* Open the directory "events" of tracefs, where tracefs is mounted or in a private mount.
 * The caller closes the descriptor. Returns ERROR_UNSUPPORTED if the kernel has no
 * tracefs. */
struct error *kernel_events_open_tracefs(int *ret) __attribute__((warn_unused_result));

void kernel_events_detach(struct kernel_events *self);

#endif
