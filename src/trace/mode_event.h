/* SPDX-License-Identifier: Apache-2.0 */
/* Counts hits of an event by stack: for modes with MODE_HITS. */
#ifndef TRACE_MODE_EVENT_H
#define TRACE_MODE_EVENT_H

#include "drain/hit_counts.h"
#include "kernel_heap/kernel_events.h"
#include "trace/tracer_state.h"

/* The state of a mode that uses these functions: all of it, or its first member. */
struct event_state {
	int counts;    /* map: hits by ABI_HIT_AT(stack) */
	uint64_t *few; /* its first elements, mapped */
	/* Hits that each element had when the process of its stack was removed. */
	struct hit_counts bases;
	uint64_t gone; /* hits of removed processes, times the event's period */
	struct kernel_events in_kernel; /* attached for all processes */
};

/* Functions of a struct trace_mode. */
struct error *mode_event_look(struct tracer *t) __attribute__((warn_unused_result));
struct error *mode_event_open_tables(struct tracer *t)
	__attribute__((warn_unused_result));
struct error *mode_event_begin_load(struct tracer *t) __attribute__((warn_unused_result));
struct error *mode_event_load(struct tracer *t, unsigned beside)
	__attribute__((warn_unused_result));
struct error *mode_event_drain(struct tracer *t, const struct drain_slots *slots,
			       struct snapshot *snap, bool *settled)
	__attribute__((warn_unused_result));
struct error *mode_event_drop_slots(struct tracer *t, const bool gone[], bool held[])
	__attribute__((warn_unused_result));
void mode_event_close(struct tracer *t);
bool mode_event_is_in_kernel(const struct tracer_setup *setup);
struct error *mode_event_dry_run(const struct tracer_setup *setup, FILE *out)
	__attribute__((warn_unused_result));

/* Functions of its struct source_mode. */
bool mode_event_is_exact(const struct source_run *run);
bool mode_event_add_flags(struct source_flags *flags, const struct source_run *run)
	__attribute__((warn_unused_result));

/* One event of the kernel serves all processes: attach it, unless it is attached. */
struct error *mode_event_attach_in_kernel(struct tracer *t)
	__attribute__((warn_unused_result));

#endif
