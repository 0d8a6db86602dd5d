// SPDX-License-Identifier: Apache-2.0
/* Minimum cuts, compared with the cheapest of all possible cuts. */
#include "check.h"

#include "code/cut.h"
#include "unit/random.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define LIMIT        20000
#define EDGES_MAX    64

struct edge {
	uint32_t from, to;
	int32_t price, price_back;
};

struct graph {
	uint32_t nodes, source, sink;
	struct edge edges[EDGES_MAX];
	size_t count;
};

static void build(const struct graph *g, struct cut *ret)
{
	REQUIRE(cut_init(ret, g->nodes));
	for (size_t i = 0; i < g->count; i++)
		REQUIRE(cut_add(ret, g->edges[i].from, g->edges[i].to, g->edges[i].price,
				g->edges[i].price_back));
}

/* The cost of a cut with the nodes in `before`, a bit mask, on the source's side. */
static int64_t cost_of(const struct graph *g, uint32_t before)
{
	int64_t cost = 0;

	for (size_t i = 0; i < g->count; i++) {
		bool from = before >> g->edges[i].from & 1;
		bool to = before >> g->edges[i].to & 1;

		if (from && !to)
			cost += g->edges[i].price;
		else if (to && !from)
			cost += g->edges[i].price_back;
	}
	return cost;
}

static int64_t cheapest(const struct graph *g)
{
	int64_t best = INT64_MAX;

	for (uint32_t before = 0; before < 1u << g->nodes; before++) {
		int64_t cost = cost_of(g, before);

		if (before >> g->source & 1 && !(before >> g->sink & 1) && cost < best)
			best = cost;
	}
	return best;
}

/* Finds a cut and checks it. Returns its price. */
static int32_t solve(const struct graph *g, int32_t limit)
{
	struct cut cut;
	uint32_t before = 0;
	int64_t best = cheapest(g);
	int32_t price;

	build(g, &cut);
	price = cut_solve(&cut, g->source, g->sink, limit);
	CHECK_INT(price, best < limit ? best : -1);
	if (price >= 0) {
		for (uint32_t node = 0; node < g->nodes; node++)
			before |= (uint32_t)cut_is_before(&cut, node) << node;
		CHECK(before >> g->source & 1);
		CHECK(!(before >> g->sink & 1));
		CHECK_INT(cost_of(g, before), price);
	}
	cut_deinit(&cut);
	return price;
}

static void small_graphs(void)
{
	const struct graph line = {3, 0, 2, {{0, 1, 7, 0}, {1, 2, 5, 0}}, 2};
	const struct graph two_ways = {
		4, 0, 3, {{0, 1, 7, 0}, {0, 2, 4, 0}, {1, 3, 5, 0}, {2, 3, 9, 0}}, 4};
	const struct graph parallel = {2, 0, 1, {{0, 1, 3, 0}, {0, 1, 4, 0}}, 2};
	const struct graph apart = {3, 0, 2, {{0, 1, 7, 0}, {2, 1, 5, 0}}, 2};
	const struct graph nothing = {2, 0, 1, {{0}}, 0};
	/* The flow along the shortest path, 0-1-4-7, must be reversed in part. */
	const struct graph crossed = {8,
				      0,
				      7,
				      {{0, 1, 1, 0},
				       {1, 4, 1, 0},
				       {4, 7, 1, 0},
				       {1, 2, 1, 0},
				       {2, 3, 1, 0},
				       {3, 7, 1, 0},
				       {0, 5, 1, 0},
				       {5, 6, 1, 0},
				       {6, 4, 1, 0}},
				      9};
	const struct graph loop = {
		4, 0, 3, {{0, 1, 9, 0}, {1, 2, 3, 0}, {2, 1, 8, 0}, {2, 3, 6, 0}}, 4};

	CHECK_INT(solve(&line, LIMIT), 5);
	CHECK_INT(solve(&two_ways, LIMIT), 9);
	CHECK_INT(solve(&parallel, LIMIT), 7);
	CHECK_INT(solve(&apart, LIMIT), 0);
	CHECK_INT(solve(&nothing, LIMIT), 0);
	CHECK_INT(solve(&crossed, LIMIT), 2);
	CHECK_INT(solve(&loop, LIMIT), 3);
}

static void edges_that_cannot_be_cut(void)
{
	struct graph g = {
		4, 0, 3, {{0, 1, CUT_NEVER, 0}, {1, 2, 12, 0}, {2, 3, CUT_NEVER, 0}}, 3};

	CHECK_INT(solve(&g, LIMIT), 12);
	g.edges[1].price = CUT_NEVER;
	CHECK_INT(solve(&g, LIMIT), -1);
	/* Several paths; one cannot be cut. */
	g = (struct graph){
		4,
		0,
		3,
		{{0, 1, 5, 0}, {1, 3, 5, 0}, {0, 2, CUT_NEVER, 0}, {2, 3, CUT_NEVER, 0}},
		4};
	CHECK_INT(solve(&g, LIMIT), -1);
	/* Much has flowed through such an edge: it still cannot be cut. */
	g = (struct graph){5,
			   0,
			   4,
			   {{0, 1, CUT_NEVER, 0},
			    {1, 2, 6000, 0},
			    {1, 3, 6000, 0},
			    {2, 4, CUT_NEVER, 0},
			    {3, 4, CUT_NEVER, 0}},
			   5};
	CHECK_INT(solve(&g, LIMIT), 12000);
}

static void limits(void)
{
	const struct graph line = {3, 0, 2, {{0, 1, 7, 0}, {1, 2, 5, 0}}, 2};

	CHECK_INT(solve(&line, 6), 5);
	CHECK_INT(solve(&line, 5), -1);
	CHECK_INT(solve(&line, 4), -1);
}

/* No path may pass two edges of the cut: reverse edges that cannot be cut. */
static void ways_back(void)
{
	/* The cheap edges are 0-1 and 2-3, on the path 0-1-2-3 and its side paths. */
	struct graph g = {6,
			  0,
			  5,
			  {{0, 1, 1, 0},
			   {1, 2, 100, 0},
			   {2, 3, 1, 0},
			   {3, 5, 100, 0},
			   {0, 2, 100, 0},
			   {1, 3, 100, 0},
			   {0, 4, CUT_NEVER, 0},
			   {4, 5, 50, 0}},
			  8};
	int32_t free_price = solve(&g, LIMIT);

	for (size_t i = 0; i < g.count; i++)
		g.edges[i].price_back = CUT_NEVER;
	CHECK(solve(&g, LIMIT) >= free_price);

	/* a-b and c-d are cheap, and b-c leads back: a path through all of them would
	 * pass both. */
	g = (struct graph){6,
			   0,
			   5,
			   {{0, 1, CUT_NEVER, 0},
			    {1, 2, 1, 0},         /* cheap */
			    {2, 3, CUT_NEVER, 0}, /* from after the cut to before it */
			    {3, 4, 1, 0},         /* cheap */
			    {4, 5, CUT_NEVER, 0},
			    {0, 3, CUT_NEVER, 0},
			    {2, 5, CUT_NEVER, 0}},
			   7};
	CHECK_INT(solve(&g, LIMIT), 2);
	for (size_t i = 0; i < g.count; i++)
		g.edges[i].price_back = CUT_NEVER;
	CHECK_INT(solve(&g, LIMIT), -1);
}

static struct graph random_graph(bool once)
{
	struct graph g = {.nodes = 2 + random_below(8)};

	g.source = random_below(g.nodes);
	do
		g.sink = random_below(g.nodes);
	while (g.sink == g.source);
	g.count = random_below(26);
	for (size_t i = 0; i < g.count; i++) {
		struct edge *e = &g.edges[i];

		*e = (struct edge){.from = random_below(g.nodes),
				   .to = random_below(g.nodes),
				   .price = random_below(6) ? (int32_t)random_below(40)
							    : CUT_NEVER};
		if (once)
			e->price_back = CUT_NEVER;
		else if (!random_below(3))
			e->price_back = (int32_t)random_below(40);
	}
	return g;
}

static void random_graphs(void)
{
	unsigned found = 0, found_once = 0;

	for (unsigned i = 0; i < 6000; i++) {
		struct graph g = random_graph(i & 1);
		bool is_found =
			solve(&g, i % 5 ? LIMIT : 1 + (int32_t)random_below(60)) > 0;

		found += is_found && !(i & 1);
		found_once += is_found && i & 1;
		if (check_state.failures)
			return;
	}
	printf("     %u cuts of 3000 graphs, %u of 3000 with edges back\n", found,
	       found_once);
	CHECK(found > 300);
	CHECK(found_once > 100);
}

/* A ladder of `steps` steps, with a price for each step, without its last rung. */
static void make_ladder(struct cut *ret, uint32_t steps, int32_t price)
{
	REQUIRE(cut_init(ret, 2 * steps + 2));
	for (uint32_t i = 0; i < steps; i++) {
		REQUIRE(cut_add(ret, 2 * i, 2 * (i + 1), price, CUT_NEVER));
		REQUIRE(cut_add(ret, 2 * i + 1, 2 * (i + 1) + 1, price, CUT_NEVER));
		REQUIRE(cut_add(ret, 2 * i, 2 * i + 1, CUT_NEVER, CUT_NEVER));
	}
}

/* At least as many nodes as the longest function has. */
static void large_graphs(void)
{
	double before_s = check_cpu_s();
	struct cut cut;

	make_ladder(&cut, 200000, 10);
	CHECK_INT(cut_solve(&cut, 0, 400001, LIMIT), 10);
	cut_deinit(&cut);

	/* A thousand paths that have only their last edge in common. */
	REQUIRE(cut_init(&cut, 30002));
	for (uint32_t i = 0; i < 30000; i++) {
		REQUIRE(cut_add(&cut, 30000, i, 10, 0));
		REQUIRE(cut_add(&cut, i, i % 7 ? i - 1 : 30001, CUT_NEVER, 0));
	}
	CHECK_INT(cut_solve(&cut, 30000, 30001, LIMIT), -1);
	cut_deinit(&cut);

	/* There are many paths, all of them long: it gives up. */
	REQUIRE(cut_init(&cut, 60002));
	for (uint32_t i = 0; i < 30000; i++) {
		REQUIRE(cut_add(&cut, i, i + 1, CUT_NEVER, 0));
		REQUIRE(cut_add(&cut, i + 1, 60000 - i, 1, 0));
		REQUIRE(cut_add(&cut, 60000 - i, 60001 - i, CUT_NEVER, 0));
	}
	CHECK_INT(cut_solve(&cut, 0, 60001, CUT_NEVER), -1);
	cut_deinit(&cut);
	CHECK(check_cpu_s() - before_s < 5);
}

int main(void)
{
	RUN(small_graphs);
	RUN(edges_that_cannot_be_cut);
	RUN(limits);
	RUN(ways_back);
	RUN(random_graphs);
	RUN(large_graphs);
	return check_done();
}
