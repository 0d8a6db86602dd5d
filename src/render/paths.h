/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of a report as call paths of names: rows that differ only in addresses are
 * one path, and paths are sorted, so that those with a common beginning lie together.
 * Private to render/.
 */
#ifndef RENDER_PATHS_H
#define RENDER_PATHS_H

#include "render/names.h"

enum paths_order {
	PATHS_ROOT_FIRST,
	PATHS_LEAF_FIRST,
};

struct path {
	size_t first, depth; /* `depth` ids of names from paths.steps[first] on */
	/* Scaled when sampling; sums stop at UINT64_MAX. */
	uint64_t size_bytes, count;
	/* In the rows of a difference (report/diff.h); of others they say nothing. */
	uint64_t old_bytes, new_bytes;
};

struct paths {
	struct names names;
	VEC(uint32_t) steps;
	VEC(struct path) list; /* by their steps, lexicographically, all different */
};

/*
 * Take every row of every section. A stack that is not whole has a note at its outermost
 * end that says why. Whatever the order, each path begins with its process when the
 * snapshot has several (a row of several has a path for each of their names), and then
 * with the note of its class when there is more than one section. Depth is at least 1.
 * `ret` refers to the report; it is the caller's to deinit, also after an error. Fails
 * only when memory is out.
 */
struct error *paths_init(struct paths *ret, const struct report *report,
			 enum paths_order order) __attribute__((warn_unused_result));
void paths_deinit(struct paths *paths);

/* The name at `depth` (0: the first) of a path. */
const struct name *paths_name(const struct paths *paths, const struct path *path,
			      size_t depth);

/* How many steps the two have in common, from the first on. */
size_t paths_common(const struct paths *paths, const struct path *a,
		    const struct path *b);

#endif
