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
	TOOL_BEFORE,   /* the one that TOOL_BEFORE_VARIABLE names */
	TOOL_MEMLEAK,
};

/* The environment variable with the path of another memtrace to compare with. */
#define TOOL_BEFORE_VARIABLE "MEMTRACE_BENCH_BEFORE"

/* Is it set? A path that cannot be executed ends the bench. */
bool tool_has_before(void);

/*
 * Set memleak-bpfcc's environment up and try to start it. False, and why in one line,
 * when it cannot run here.
 */
bool tool_find_peer(char *why, size_t why_size);

/* A tracer at work on a target. */
struct tracing {
	struct child child;
	uint64_t began_ns;     /* when it counted; all_probes_ms on the clock */
	double first_probe_ms; /* from its execve until malloc's code had changed */
	double all_probes_ms; /* until it counted: memtrace says so, memleak puts its last
				 probe on munmap */
};

/* memleak makes its one report so long after it began to count, and ends; memtrace makes
 * none before it is told to. */
#define TOOL_PEER_INTERVAL_S 30

/* Start it with `options` (ended by NULL) and wait until it counts. */
struct tracing tool_start(enum tool tool, const struct target *target,
			  const char *const options[]);

/* Start it and stop it again. False when it does not begin to trace, with the last line
 * of its stderr in `why`. */
bool tool_can_trace(enum tool tool, const struct target *target,
		    const char *const options[], char *why, size_t why_size);

/* Stop it with SIGINT; the ms until it was gone. `usage` may be NULL. */
double tool_stop(struct tracing *tracing, struct rusage *usage);

#endif
