// SPDX-License-Identifier: Apache-2.0
#include "bench.h"

#include <math.h>
#include <stdio.h>

#include "empty_probes.h"
#include "table.h"
#include "tool.h"

#define ROUNDS       5
#define PAIRS_BARE   5000000
#define PAIRS_TRACED 200000
#define PAIRS_PEER   30000

static const unsigned depths[] = {4, 18, 30};
#define DEPTHS (sizeof(depths) / sizeof(*depths))

enum way {
	BARE,
	EMPTY,
	INSIDE,
	MEMTRACE,
	MEMTRACE_SAMPLED,
	MEMTRACE_BYTES,
	MEMTRACE_TRAFFIC,
	MEMTRACE_PEAK,
	PEER,
	PEER_SAMPLED,
	WAYS
};

static const char *const options[WAYS][3] = {
	[MEMTRACE_SAMPLED] = {"--sample-every", "100"},
	[MEMTRACE_BYTES] = {"--sample-bytes", "512K"},
	[MEMTRACE_TRAFFIC] = {"--traffic"},
	[MEMTRACE_PEAK] = {"--peak"},
	[PEER_SAMPLED] = {"-s", "100"},
};

static void pairs(struct target *target, unsigned long count, double ns[DEPTHS])
{
	for (size_t i = 0; i < DEPTHS; i++) {
		/* Warm up. */
		target_pairs(target, count / 20, depths[i]);
		ns[i] = target_pairs(target, count, depths[i]);
	}
}

static void measure(struct target *target, enum way way, bool has_peer, double ns[DEPTHS])
{
	if (way == BARE) {
		pairs(target, PAIRS_BARE, ns);
	} else if (way == EMPTY || way == INSIDE) {
		struct empty_probes *probes =
			way == EMPTY ? empty_probes_attach(target->child.pid)
				     : inside_probes_attach(target->child.pid);

		pairs(target, PAIRS_TRACED, ns);
		empty_probes_detach(probes);
	} else {
		enum tool tool = way >= PEER ? TOOL_MEMLEAK : TOOL_MEMTRACE;

		if (tool == TOOL_MEMLEAK && !has_peer)
			return;

		struct tracing tracing = tool_start(tool, target, options[way]);

		pairs(target, tool == TOOL_MEMLEAK ? PAIRS_PEER : PAIRS_TRACED, ns);
		tool_stop(&tracing);
	}
}

void section_pairs(const struct peers *peers)
{
	const bool has_peer = peers->has[TOOL_MEMLEAK];
	double ns[WAYS][DEPTHS][ROUNDS], m[WAYS][DEPTHS];

	for (unsigned round = 0; round < ROUNDS; round++) {
		struct target target = target_start();

		for (unsigned way = 0; way < WAYS; way++) {
			double once[DEPTHS];

			for (size_t d = 0; d < DEPTHS; d++)
				once[d] = NAN;
			measure(&target, way, has_peer, once);
			for (size_t d = 0; d < DEPTHS; d++)
				ns[way][d][round] = once[d];
		}
		target_stop(&target);
	}
	for (unsigned way = 0; way < WAYS; way++)
		for (size_t d = 0; d < DEPTHS; d++)
			m[way][d] = median(ns[way][d], ROUNDS);

	table_head("A pair of malloc and free in a loop, ns");
	for (size_t d = 0; d < DEPTHS; d++) {
		static const char empty[] = "empty probes of entry and return";
		char name[2][64];

		/* run_below() counts down to 0, and then calls run_pairs(). */
		snprintf(name[0], sizeof(name[0]), "%u frames below main, ns",
			 depths[d] + 2);
		snprintf(name[1], sizeof(name[1]), "  the same, one in 100 sampled");
		table_row(&(struct row){name[0], m[MEMTRACE][d], m[EMPTY][d], m[PEER][d],
					empty},
			  has_peer);
		table_row(&(struct row){"  the same", m[MEMTRACE][d], m[INSIDE][d], NAN,
					"empty probes where memtrace has its own"},
			  has_peer);
		table_row(&(struct row){name[1], m[MEMTRACE_SAMPLED][d], m[EMPTY][d],
					m[PEER_SAMPLED][d], empty},
			  has_peer);
		table_row(&(struct row){"  the same, one in 512 KiB",
					m[MEMTRACE_BYTES][d], m[EMPTY][d], NAN, empty},
			  has_peer);
		table_row(&(struct row){"  the same, all, with --traffic",
					m[MEMTRACE_TRAFFIC][d], m[EMPTY][d], NAN, empty},
			  has_peer);
		table_row(&(struct row){"  the same, all, with --peak",
					m[MEMTRACE_PEAK][d], m[MEMTRACE_TRAFFIC][d], NAN,
					"the same with --traffic"},
			  has_peer);
	}
	for (size_t d = 0; d < DEPTHS && has_peer; d++)
		printf("added to a pair, %u frames: memtrace %.3f of what memleak-bpfcc "
		       "adds\n",
		       depths[d] + 2,
		       (m[MEMTRACE][d] - m[BARE][d]) / (m[PEER][d] - m[BARE][d]));
	for (size_t d = 0; d < DEPTHS; d++)
		printf("not traced, %u frames: %.2f ns; empty probes %.0f times that, "
		       "memtrace "
		       "%.0f times\n",
		       depths[d] + 2, m[BARE][d], m[EMPTY][d] / m[BARE][d],
		       m[MEMTRACE][d] / m[BARE][d]);
}
