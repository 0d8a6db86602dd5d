// SPDX-License-Identifier: Apache-2.0
#include "code/cut.h"

#include <stdlib.h>
#include <string.h>

/* Bound on edges visited: a tenth of a second. */
#define EDGES_MAX 20000000u

bool cut_init(struct cut *ret, uint32_t node_count)
{
	*ret = (struct cut){
		.first = calloc(node_count + 1u, sizeof(*ret->first)),
		.place = calloc(node_count + 1u, sizeof(*ret->place)),
		.level = calloc(node_count + 1u, sizeof(*ret->level)),
		.queue = calloc(node_count + 1u, sizeof(*ret->queue)),
		.node_count = node_count,
	};
	if (ret->first && ret->place && ret->level && ret->queue)
		return true;
	cut_deinit(ret);
	return false;
}

void cut_deinit(struct cut *cut)
{
	vec_deinit(&cut->edges);
	free(cut->first);
	free(cut->place);
	free(cut->level);
	free(cut->queue);
	*cut = (struct cut){0};
}

static bool add_half(struct cut *cut, uint32_t from, uint32_t to, int32_t price)
{
	const struct cut_edge edge = {to, cut->first[from], price};

	if (!vec_push(&cut->edges, edge))
		return false;
	cut->first[from] = (uint32_t)cut->edges.len;
	return true;
}

bool cut_add(struct cut *cut, uint32_t from, uint32_t to, int32_t price,
	     int32_t price_back)
{
	return add_half(cut, from, to, price) && add_half(cut, to, from, price_back);
}

/* Compute distances from the source over edges with remaining capacity. */
static bool find_levels(struct cut *cut, uint32_t source, uint32_t sink)
{
	uint32_t head = 0, tail = 0;

	memset(cut->level, 0xff, cut->node_count * sizeof(*cut->level));
	cut->level[source] = 0;
	cut->queue[tail++] = source;
	while (head < tail) {
		uint32_t node = cut->queue[head++];

		for (uint32_t e = cut->first[node]; e; e = cut->edges.data[e - 1].next) {
			const struct cut_edge *edge = &cut->edges.data[e - 1];

			++cut->work;
			if (!edge->left || cut->level[edge->to] >= 0)
				continue;
			cut->level[edge->to] = cut->level[node] + 1;
			cut->queue[tail++] = edge->to;
		}
	}
	return cut->level[sink] >= 0;
}

/* Send flow along one path to the sink, by levels and without recursion: `queue` holds
 * its edges. Returns the amount, 0 if no path is left. */
static int32_t send(struct cut *cut, uint32_t source, uint32_t sink)
{
	uint32_t depth = 0, node = source;
	int32_t least = CUT_NEVER;

	while (node != sink) {
		uint32_t e = cut->place[node];
		const struct cut_edge *edge = e ? &cut->edges.data[e - 1] : NULL;

		++cut->work;
		if (edge && edge->left && cut->level[edge->to] == cut->level[node] + 1) {
			cut->queue[depth++] = e - 1;
			node = edge->to;
		} else if (edge) {
			cut->place[node] = edge->next;
		} else if (depth) {
			/* Dead end: step back. */
			e = cut->queue[--depth];
			node = cut->edges.data[e ^ 1].to;
			cut->place[node] = cut->edges.data[e].next;
		} else {
			return 0;
		}
	}
	for (uint32_t i = 0; i < depth; i++)
		if (cut->edges.data[cut->queue[i]].left < least)
			least = cut->edges.data[cut->queue[i]].left;
	for (uint32_t i = 0; i < depth; i++) {
		struct cut_edge *edge = &cut->edges.data[cut->queue[i]];
		struct cut_edge *back = &cut->edges.data[cut->queue[i] ^ 1];

		/* An edge that cannot be cut has unlimited capacity. */
		if (edge->left != CUT_NEVER)
			edge->left -= least;
		if (back->left < CUT_NEVER - least)
			back->left += least;
	}
	return least;
}

int32_t cut_solve(struct cut *cut, uint32_t source, uint32_t sink, int32_t limit)
{
	int32_t price = 0, more;

	while (find_levels(cut, source, sink)) {
		memcpy(cut->place, cut->first, cut->node_count * sizeof(*cut->place));
		while ((more = send(cut, source, sink)) > 0) {
			price += more;
			if (price >= limit || cut->work > EDGES_MAX)
				return -1;
		}
	}
	return price;
}
