/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One tracing of one process, from compiling to the last snapshot. The order inside:
 * compile, load, attach everything, then open the gate (abi_control.enabled), so that no
 * free is missed because its probe came later than malloc's.
 */
#ifndef BPF_TRACER_H
#define BPF_TRACER_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/headers.h"
#include "plan/plan.h"
#include "snapshot/snapshot.h"
#include "target/proc.h"
#include "util/error.h"

/* How to attach; auto takes uprobe_multi where the kernel has it. */
enum attach_choice {
	ATTACH_AUTO,
	ATTACH_MULTI,
	ATTACH_PERF
};

struct tracer_options {
	uint64_t max_allocations, max_stacks;
	unsigned stack_depth;
	uint64_t sample_every;
	uint64_t min_size_bytes, max_size_bytes;
	bool mappings;
	bool with_time; /* keep the time of each block */
	enum headers_mode headers;
	const char *headers_dir;
	enum attach_choice attach;
	/* Told what is going on ("compiling", ...); may be NULL. */
	void (*progress)(void *arg, const char *phase);
	void *progress_arg;
};

struct tracer;

/*
 * Begin. `proc` and `plan` must outlive the tracer. On return the probes stand and count
 * has begun. Errors name what the kernel or the compiler refused.
 */
struct error *tracer_create(const struct tracer_options *options, const struct proc *proc,
			    const struct plan *plan, struct tracer **ret)
	__attribute__((warn_unused_result));

/* Stop counting; the tables stay as they are. */
void tracer_freeze(struct tracer *tracer);

/* Take events from the ring buffer. To be called every tracer_poll_ms(). */
void tracer_poll(struct tracer *tracer);

/* How often tracer_poll() wants to be called, or -1 when not at all. */
int tracer_poll_ms(const struct tracer *tracer);

/*
 * Fill blocks, stacks, totals and losses of `snap`, and its fields on how it was traced;
 * what is known of the process is the caller's to add.
 */
struct error *tracer_snapshot(struct tracer *tracer, struct snapshot *snap)
	__attribute__((warn_unused_result));

/* How the probes are attached and compiled, for -v: "uprobe_multi", "embedded". */
const char *tracer_attach_name(const struct tracer *tracer);
const char *tracer_headers_kind(const struct tracer *tracer);

/* Take the probes away and free everything; NULL is fine. */
void tracer_destroy(struct tracer *tracer);

#endif
