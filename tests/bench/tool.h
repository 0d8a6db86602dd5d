/* SPDX-License-Identifier: Apache-2.0 */
/* The tracers that are measured, and the process that they trace. */
#ifndef BENCH_TOOL_H
#define BENCH_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "child.h"

enum tool {
	TOOL_MEMTRACE,
	TOOL_MEMLEAK
};

/*
 * Set memleak-bpfcc's environment up and try to start it. False, and why in one line,
 * when it cannot run here.
 */
bool tool_find_peer(char *why, size_t why_size);

/* The traced process: target.c. */
struct target {
	struct child child;
	uint64_t malloc_address, munmap_address;
};

struct target target_start(void);
/* It executes its program again. */
void target_exec(struct target *target);
void target_stop(struct target *target);
/* The ns of a pair of malloc and free, as the target measured it. */
double target_pairs(struct target *target, unsigned long count, unsigned depth);
/* The same by turns from two places: no walk of the stack is as the last one was. */
double target_walks(struct target *target, unsigned long count, unsigned depth);
/* Leave `count` blocks live, made in `stacks` call paths. */
void target_fill(struct target *target, unsigned long count, unsigned stacks);

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

/* Stop it with SIGINT; the ms until it was gone. `usage` may be NULL. */
double tool_stop(struct tracing *tracing, struct rusage *usage);

#endif
