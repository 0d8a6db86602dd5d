/* SPDX-License-Identifier: Apache-2.0 */
/* The tracers that are measured, and the process that they trace. */
#ifndef BENCH_TOOL_H
#define BENCH_TOOL_H

#include <stdint.h>

#include "child.h"

enum tool {
	TOOL_MEMTRACE,
	TOOL_MEMLEAK
};

/* NULL when it can run; else why not. */
const char *tool_missing(enum tool tool);

/* The traced process: target.c. */
struct target {
	struct child child;
	uint64_t malloc_address, munmap_address;
};

struct target target_start(void);
void target_stop(struct target *target);
/* The ns of a pair of malloc and free, as the target measured it. */
double target_pairs(struct target *target, unsigned long count, unsigned depth);
/* Leave `count` blocks live, made in `stacks` call paths. */
void target_fill(struct target *target, unsigned long count, unsigned stacks);

/* A tracer at work on a target. */
struct tracing {
	struct child child;
	double first_probe_ms; /* from its execve until malloc's code had changed */
	double all_probes_ms; /* until it counted: memtrace says so, memleak puts its last
				 probe on munmap */
};

/* Start it with `options` (ended by NULL) and wait until it counts. It makes no report
 * of its own accord. */
struct tracing tool_start(enum tool tool, const struct target *target,
			  const char *const options[]);

/* Stop it with SIGINT; the ms until it was gone. `usage` may be NULL. */
double tool_stop(struct tracing *tracing, struct rusage *usage);

#endif
