/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cheapest set of edges of a directed graph that every path from one node to
 * another passes: a minimum cut, by Dinic's algorithm (Ahuja, Magnanti and Orlin,
 * Network Flows, 7.5).
 */
#ifndef CODE_CUT_H
#define CODE_CUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/vec.h"

/* Price of an edge that cannot be cut. */
#define CUT_NEVER (1 << 28)

struct cut_edge {
	uint32_t to, next; /* next: 1 + the index of the next edge of the same node */
	int32_t left;      /* remaining capacity */
};

struct cut {
	VEC(struct cut_edge) edges; /* each is followed by its reverse */
	uint32_t *first;            /* for each node: 1 + the index of an edge; 0: none */
	uint32_t *place;            /* for each node: the edge to visit next */
	int32_t *level;             /* for each node: distance from the source, or -1 */
	uint32_t *queue;
	uint32_t node_count;
	uint32_t work; /* edges that cut_solve() has visited */
};

/* Initialize a graph of `node_count` nodes. False: memory is out. */
bool cut_init(struct cut *ret, uint32_t node_count) __attribute__((warn_unused_result));
void cut_deinit(struct cut *cut);

/* Add an edge and its reverse, with the prices of cutting them; price 0: no edge.
 * False: memory is out. */
bool cut_add(struct cut *cut, uint32_t from, uint32_t to, int32_t price,
	     int32_t price_back) __attribute__((warn_unused_result));

/* Find the cut and return what it costs. Returns -1 if every cut costs `limit` or more,
 * or if the search takes too long. */
int32_t cut_solve(struct cut *cut, uint32_t source, uint32_t sink, int32_t limit);

/* After cut_solve(): is the node on the source's side? The cut is the set of edges from
 * this side to the other. */
static inline bool cut_is_before(const struct cut *cut, uint32_t node)
{
	return cut->level[node] >= 0;
}

#endif
