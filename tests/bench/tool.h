/* SPDX-License-Identifier: Apache-2.0 */
/* The tracers that are measured. */
#ifndef BENCH_TOOL_H
#define BENCH_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "child.h"
#include "target_process.h"

enum tool {
	TOOL_MEMTRACE, /* the memtrace of this build */
	TOOL_BEFORE,   /* the memtrace that TOOL_BEFORE_VARIABLE names */
	TOOL_MEMLEAK,
};

/* The environment variable with the path of another memtrace to compare with. */
#define TOOL_BEFORE_VARIABLE "MEMTRACE_BENCH_BEFORE"

/* The program of a tool. NULL: the variable for TOOL_BEFORE is not set. */
const char *tool_program(enum tool tool);

/* Is the variable set? Ends the bench if its path cannot be executed. */
bool tool_has_before(void);

/*
 * Set up memleak-bpfcc's environment and try to start it. Returns false if it cannot run
 * here, with a reason of one line in `why`.
 */
bool tool_find_peer(char *why, size_t why_size);

/* A tracer at work on a target. */
struct tracing {
	struct child child;
	uint64_t began_ns;     /* when it began to count, CLOCK_MONOTONIC */
	double first_probe_ms; /* from the start until malloc's code changed */
	double all_probes_ms;  /* until it counted (all_probes_are_there()) */
};

/* memleak makes one report this long after it began to count, and exits. memtrace reports
 * only on request. */
#define TOOL_PEER_INTERVAL_S 30

/* Start a tracer with `options` (ended by NULL) and wait until it counts. */
struct tracing tool_start(enum tool tool, const struct target *target,
			  const char *const options[]);

/* Start a tracer and stop it again. Returns false if it does not begin to trace, with the
 * last line of its stderr in `why`. */
bool tool_can_trace(enum tool tool, const struct target *target,
		    const char *const options[], char *why, size_t why_size);

/* Stop a tracer with SIGINT. Returns the ms until it has ended. `usage` may be NULL. */
double tool_stop(struct tracing *tracing, struct rusage *usage);

#endif
