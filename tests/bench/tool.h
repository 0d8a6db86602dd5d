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
	TOOL_BPFTRACE, /* with a script of ours, which does what memleak does */
	TOOLS
};

/* The tools of others: which of them can run here. */
struct peers {
	bool has[TOOLS];
};

/* The name for tables. */
const char *tool_name(enum tool tool);

/* The environment variable with the path of another memtrace to compare with. */
#define TOOL_BEFORE_VARIABLE "MEMTRACE_BENCH_BEFORE"

/* The program of a tool. NULL: the variable for TOOL_BEFORE is not set. */
const char *tool_program(enum tool tool);

/* Is the variable set? Ends the bench if its path cannot be executed. */
bool tool_has_before(void);

/*
 * Set up the environment of each tool of others and try to start it. Prints a line for
 * each that cannot run here, with the reason.
 */
struct peers tool_find_peers(void);

/*
 * bpftrace reserves room for this many keys in each map of the script, as memleak does in
 * its table of blocks. A block that finds no room is lost without a message. A larger
 * limit is set before the start.
 */
#define TOOL_BPFTRACE_KEYS 1100000
void tool_set_bpftrace_keys(unsigned long keys);

/* A tracer at work on a target. */
struct tracing {
	struct child child;
	uint64_t began_ns;     /* when it began to count, CLOCK_MONOTONIC */
	double first_probe_ms; /* from the start until malloc's code changed */
	double all_probes_ms;  /* until it counted (all_probes_are_there()) */
};

/* memleak makes one report this long after it began to count, and exits. bpftrace reports
 * each time this long has passed, and memtrace only on request. */
#define TOOL_PEER_INTERVAL_S 30

/* Start a tracer with `options` (ended by NULL) and wait until it counts. */
struct tracing tool_start(enum tool tool, const struct target *target,
			  const char *const options[]);

/* The same with a report every `interval_s` seconds, without end. */
struct tracing tool_start_reporting(enum tool tool, const struct target *target,
				    const char *const options[], unsigned interval_s);

/* tool_start(), with the largest sum of the memory of its processes until it counts in
 * `peak_kib` (tree_kib()). Looking for it makes the start slower. */
struct tracing tool_start_weighing(enum tool tool, const struct target *target,
				   const char *const options[], double *peak_kib);

/* Start a tracer and stop it again. Returns false if it does not begin to trace, with the
 * last line of its stderr in `why`. */
bool tool_can_trace(enum tool tool, const struct target *target,
		    const char *const options[], char *why, size_t why_size);

/* Stop a tracer with SIGINT. Returns the ms until it has ended. */
double tool_stop(struct tracing *tracing);

#endif
