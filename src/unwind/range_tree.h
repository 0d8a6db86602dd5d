/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mappings of code that images.h keeps: address ranges that may overlap, each with
 * the times at which it begins and ends to be in force. It is a treap, ordered by start
 * address. Each node also knows the largest end and the bounds of the times below it. So
 * a search leaves out subtrees without a match: one huge mapping above thousands of small
 * ones costs no more.
 */
#ifndef UNWIND_RANGE_TREE_H
#define UNWIND_RANGE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/walk.h"

struct image;

struct range {
	uint64_t start, end;         /* end exclusive */
	uint64_t since_ns, until_ns; /* until exclusive */
	uint64_t tag;
	uint64_t number; /* of ranges with the same start, the later one's is higher */
	struct image *image; /* held; NULL: none, or it could not be read */
	struct walk_code code;
	bool is_of_file;  /* the mapping is of a file, perhaps an unreadable one */
	bool is_doubtful; /* the code is not known */
};

struct range_node;

struct range_tree {
	struct range_node *root;
	size_t count;
	uint64_t added;  /* ranges that were ever inserted */
	uint64_t random; /* state of the generator of priorities */
	/* The highest tag and beginning of all ranges ever inserted. */
	uint64_t tag_max, since_max_ns;
};

/* Ranges that begin at or before `start_max`, end after `end_above`, have begun to be in
 * force at a time in [from_ns, upto_ns], and are in force until after `until_above_ns`.
 */
struct range_query {
	uint64_t start_max, end_above;
	uint64_t from_ns, upto_ns, until_above_ns;
};

/* Insert a range after those with the same start. Sets its number. Returns false without
 * memory. */
bool range_tree_insert(struct range_tree *tree, struct range range)
	__attribute__((warn_unused_result));

/* Does a come before b in the tree? */
bool range_is_before(const struct range *a, const struct range *b);

/*
 * The last range before `next` (NULL: of all) that matches the query; NULL if there is
 * none. *left is lowered by the number of nodes that were looked at. At 0 the search ends
 * with NULL: then it is not known whether there is one.
 */
const struct range *range_tree_before(const struct range_tree *tree,
				      const struct range *next,
				      const struct range_query *query, unsigned *left);

/* Call `each` for all ranges, ascending. */
void range_tree_visit(const struct range_tree *tree,
		      void (*each)(const struct range *range, void *arg), void *arg);

/* Call `keep` for all ranges, ascending. It may change the times of the range. Ranges for
 * which it returns false are removed. It may search the tree if it keeps all ranges. */
void range_tree_filter(struct range_tree *tree,
		       bool (*keep)(struct range *range, void *arg), void *arg);

#endif
