/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events that are the kernel's own, as perf events for all processes: the program picks
 * out those that are traced. Each thread of theirs would want an event of its own, and
 * new ones would come too late.
 */
#ifndef BPF_KERNEL_EVENTS_H
#define BPF_KERNEL_EVENTS_H

#include <stdint.h>

#include "plan/event.h"
#include "util/error.h"
#include "util/vec.h"

struct kernel_events {
	VEC(int) fds;
};

/* The type that programs for the event must have (enum bpf_prog_type). */
uint32_t kernel_events_program_type(enum event_kind kind);

/*
 * Run `program` at the event. ERROR_NOT_FOUND: this kernel has no such tracepoint or
 * function (with the nearest names); ERROR_UNSUPPORTED: it has nothing of this kind;
 * ERROR_PERMISSION.
 */
struct error *kernel_events_attach(struct kernel_events *self,
				   const struct event_spec *spec, int program)
	__attribute__((warn_unused_result));

/* The same question before anything is compiled. */
struct error *kernel_events_check(const struct event_spec *spec)
	__attribute__((warn_unused_result));

/* The directory "events" of tracefs: where that is mounted, or one that only we see; the
 * descriptor is the caller's. ERROR_UNSUPPORTED: there is none. */
struct error *kernel_events_open_tracefs(int *ret) __attribute__((warn_unused_result));

void kernel_events_detach(struct kernel_events *self);

#endif
