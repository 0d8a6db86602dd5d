// SPDX-License-Identifier: Apache-2.0
#include "bench.h"

#include <math.h>
#include <stdio.h>

#include "empty_probes.h"
#include "tool.h"

#define ROUNDS 3
#define PAIRS  100000

/* The target's frames besides run_below()'s: main, run_walks(), two of libc and _start.
 * run_below() counts down to 0, which is one more frame. */
#define OTHER_FRAMES 6
static const unsigned depths[] = {15, 25, 55, 105};
#define DEPTHS (sizeof(depths) / sizeof(*depths))

enum way {
	EMPTY,
	STACKID,
	FRAME_POINTERS,
	RULES,
	WAYS
};

static const char *const names[WAYS] = {
	[EMPTY] = "empty probes",
	[STACKID] = "bpf_get_stackid",
	[FRAME_POINTERS] = "memtrace, frame pointers",
	[RULES] = "memtrace, rules",
};

static const char *const options[WAYS][5] = {
	[FRAME_POINTERS] = {"--unwind", "fp", "--stack-depth", "127"},
	[RULES] = {"--unwind", "auto"},
};

static void pairs(struct target *target, double ns[DEPTHS])
{
	for (size_t i = 0; i < DEPTHS; i++) {
		target_walks(target, PAIRS / 20, depths[i] - OTHER_FRAMES);
		ns[i] = target_walks(target, PAIRS, depths[i] - OTHER_FRAMES);
	}
}

static void measure(struct target *target, enum way way, double ns[DEPTHS])
{
	if (way == EMPTY || way == STACKID) {
		struct empty_probes *probes =
			way == EMPTY ? empty_probes_attach(target->child.pid)
				     : stackid_probes_attach(target->child.pid);

		pairs(target, ns);
		empty_probes_detach(probes);
	} else {
		struct tracing tracing = tool_start(TOOL_MEMTRACE, target, options[way]);

		pairs(target, ns);
		tool_stop(&tracing);
	}
}

void section_stacks(void)
{
	double ns[WAYS][DEPTHS][ROUNDS], m[WAYS][DEPTHS];

	for (unsigned round = 0; round < ROUNDS; round++) {
		struct target target = target_start();

		for (unsigned way = 0; way < WAYS; way++) {
			double once[DEPTHS];

			measure(&target, way, once);
			for (size_t d = 0; d < DEPTHS; d++)
				ns[way][d][round] = once[d];
		}
		target_stop(&target);
	}
	printf("\nStacks of a frame-pointer build, ns for a pair of malloc and free, no "
	       "walk as the last one (a frame more)\n%-26s",
	       "frames");
	for (size_t d = 0; d < DEPTHS; d++)
		printf("%16u", depths[d]);
	printf("\n");
	for (unsigned way = 0; way < WAYS; way++) {
		printf("%-26s", names[way]);
		for (size_t d = 0; d < DEPTHS; d++) {
			m[way][d] = median(ns[way][d], ROUNDS);
			printf("%9.0f", m[way][d]);
			if (d)
				printf(" %6.1f",
				       (m[way][d] - m[way][0]) / (depths[d] - depths[0]));
			else
				printf("%7s", "");
		}
		printf("\n");
	}
}
