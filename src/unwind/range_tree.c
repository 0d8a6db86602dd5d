// SPDX-License-Identifier: Apache-2.0
#include "unwind/range_tree.h"

#include <stdlib.h>

#include "util/hashmap.h"

struct range_node {
	struct range range;
	struct range_node *left, *right;
	uint64_t end_max, since_min_ns, since_max_ns, until_max_ns; /* in the subtree */
	uint32_t priority; /* not below the children's */
};

static uint64_t min_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t max_of(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void include(struct range_node *node, const struct range_node *child)
{
	if (!child)
		return;
	node->end_max = max_of(node->end_max, child->end_max);
	node->since_min_ns = min_of(node->since_min_ns, child->since_min_ns);
	node->since_max_ns = max_of(node->since_max_ns, child->since_max_ns);
	node->until_max_ns = max_of(node->until_max_ns, child->until_max_ns);
}

static struct range_node *update(struct range_node *node)
{
	node->end_max = node->range.end;
	node->since_min_ns = node->since_max_ns = node->range.since_ns;
	node->until_max_ns = node->range.until_ns;
	include(node, node->left);
	include(node, node->right);
	return node;
}

/* --- changing --------------------------------------------------------------------- */

/* Unpredictable, so that no program can choose addresses that make the tree deep
 * (splitmix64). */
static uint32_t next_priority(struct range_tree *tree)
{
	uint64_t x;

	if (!tree->random)
		tree->random = hashmap_seed() | 1;
	x = tree->random += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return (uint32_t)(x >> 32);
}

static struct range_node *insert(struct range_node *at, struct range_node *node)
{
	struct range_node *child;

	if (!at)
		return update(node);
	if (node->range.start < at->range.start) {
		child = insert(at->left, node);
		at->left = child;
		if (child->priority <= at->priority)
			return update(at);
		at->left = child->right;
		child->right = update(at);
	} else {
		child = insert(at->right, node);
		at->right = child;
		if (child->priority <= at->priority)
			return update(at);
		at->right = child->left;
		child->left = update(at);
	}
	return update(child);
}

bool range_tree_insert(struct range_tree *tree, struct range range)
{
	struct range_node *node = calloc(1, sizeof(*node));

	if (!node)
		return false;
	node->range = range;
	node->range.number = tree->added++;
	node->priority = next_priority(tree);
	tree->root = insert(tree->root, node);
	tree->count++;
	tree->tag_max = max_of(tree->tag_max, range.tag);
	tree->since_max_ns = max_of(tree->since_max_ns, range.since_ns);
	return true;
}

/* Join two trees into one. All ranges of `a` must be before all ranges of `b`. */
static struct range_node *join(struct range_node *a, struct range_node *b)
{
	if (!a || !b)
		return a ? a : b;
	if (a->priority >= b->priority) {
		a->right = join(a->right, b);
		return update(a);
	}
	b->left = join(a, b->left);
	return update(b);
}

static struct range_node *filter(struct range_tree *tree, struct range_node *at,
				 bool (*keep)(struct range *range, void *arg), void *arg)
{
	struct range_node *rest;
	bool is_kept;

	if (!at)
		return NULL;
	at->left = filter(tree, at->left, keep, arg);
	is_kept = keep(&at->range, arg);
	at->right = filter(tree, at->right, keep, arg);
	if (is_kept)
		return update(at);
	rest = join(at->left, at->right);
	free(at);
	tree->count--;
	return rest;
}

void range_tree_filter(struct range_tree *tree,
		       bool (*keep)(struct range *range, void *arg), void *arg)
{
	tree->root = filter(tree, tree->root, keep, arg);
}

/* --- searching -------------------------------------------------------------------- */

bool range_is_before(const struct range *a, const struct range *b)
{
	return a->start < b->start || (a->start == b->start && a->number < b->number);
}

static bool matches(const struct range *range, const struct range_query *q)
{
	return range->start <= q->start_max && range->end > q->end_above &&
	       range->since_ns >= q->from_ns && range->since_ns <= q->upto_ns &&
	       range->until_ns > q->until_above_ns;
}

static bool may_match(const struct range_node *at, const struct range_query *q)
{
	return at->end_max > q->end_above && at->since_max_ns >= q->from_ns &&
	       at->since_min_ns <= q->upto_ns && at->until_max_ns > q->until_above_ns;
}

static const struct range *before(const struct range_node *at, const struct range *next,
				  const struct range_query *q, unsigned *left)
{
	for (; at && *left && may_match(at, q); at = at->left) {
		const struct range *found;

		--*left;
		if (at->range.start > q->start_max ||
		    (next && !range_is_before(&at->range, next)))
			continue;
		found = before(at->right, next, q, left);
		if (found)
			return found;
		if (*left && matches(&at->range, q))
			return &at->range;
	}
	return NULL;
}

const struct range *range_tree_before(const struct range_tree *tree,
				      const struct range *next,
				      const struct range_query *query, unsigned *left)
{
	return before(tree->root, next, query, left);
}

static void visit(const struct range_node *at,
		  void (*each)(const struct range *range, void *arg), void *arg)
{
	for (; at; at = at->right) {
		visit(at->left, each, arg);
		each(&at->range, arg);
	}
}

void range_tree_visit(const struct range_tree *tree,
		      void (*each)(const struct range *range, void *arg), void *arg)
{
	visit(tree->root, each, arg);
}
