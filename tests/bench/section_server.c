// SPDX-License-Identifier: Apache-2.0
/* A server that mostly sleeps: a thousand times a second it wakes for 11 pairs of malloc
 * and free. Code and data of the probes have left the processor's caches meanwhile. */
#include "bench.h"

#include <math.h>
#include <stdio.h>

#include "empty_probes.h"
#include "tool.h"

#define ROUNDS    5
#define WAKEUPS   2000
#define LOOPED    200000
#define LOOP_PEER 30000
#define DEPTH     4 /* 6 frames below main */

enum way {
	BARE,
	INSIDE,
	MEMTRACE,
	MEMTRACE_FP,
	PEER,
	WAYS
};

static const char *const names[WAYS] = {
	[BARE] = "not traced",    [INSIDE] = "empty probes where memtrace has its own",
	[MEMTRACE] = "memtrace",  [MEMTRACE_FP] = "memtrace --unwind fp",
	[PEER] = "memleak-bpfcc",
};

/* The ns of a pair: after a sleep, and in a loop. */
struct pair {
	double rested, looped;
};

static struct pair run(struct target *target, unsigned long looped)
{
	/* Warm up. */
	target_bursts(target, WAKEUPS / 10, DEPTH);
	return (struct pair){target_bursts(target, WAKEUPS, DEPTH),
			     target_pairs(target, looped, DEPTH)};
}

static struct pair measure(struct target *target, enum way way, bool has_peer)
{
	static const char *const by_fp[] = {"--unwind", "fp", NULL};
	static const char *const none[] = {NULL};
	struct pair pair = {NAN, NAN};

	if (way == BARE) {
		pair = run(target, LOOPED);
	} else if (way == INSIDE) {
		struct empty_probes *probes = inside_probes_attach(target->child.pid);

		pair = run(target, LOOPED);
		empty_probes_detach(probes);
	} else if (way != PEER || has_peer) {
		struct tracing tracing =
			tool_start(way == PEER ? TOOL_MEMLEAK : TOOL_MEMTRACE, target,
				   way == MEMTRACE_FP ? by_fp : none);

		pair = run(target, way == PEER ? LOOP_PEER : LOOPED);
		tool_stop(&tracing);
	}
	return pair;
}

void section_server(const struct peers *peers)
{
	double rested[WAYS][ROUNDS], looped[WAYS][ROUNDS], bare[2];

	for (unsigned round = 0; round < ROUNDS; round++) {
		struct target target = target_start();

		for (unsigned way = 0; way < WAYS; way++) {
			struct pair pair =
				measure(&target, way, peers->has[TOOL_MEMLEAK]);

			rested[way][round] = pair.rested;
			looped[way][round] = pair.looped;
		}
		target_stop(&target);
	}
	printf("\nA pair of malloc and free, 6 frames below main, ns: 11 of them a "
	       "thousand times a second, and in a loop\n%-42s %10s %10s %14s %14s\n",
	       "", "rested", "in a loop", "added, rested", "added, loop");
	bare[0] = median(rested[BARE], ROUNDS);
	bare[1] = median(looped[BARE], ROUNDS);
	for (unsigned way = 0; way < WAYS; way++) {
		double pair[2] = {median(rested[way], ROUNDS),
				  median(looped[way], ROUNDS)};

		printf("%-42s %10.0f %10.0f %14.0f %14.0f\n", names[way], pair[0],
		       pair[1], pair[0] - bare[0], pair[1] - bare[1]);
	}
}
