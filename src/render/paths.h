/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of a report as call paths of names. Rows that differ only in addresses are
 * merged into one path. Paths are sorted, so that paths with a common beginning are
 * adjacent. Private to render/.
 */
#ifndef RENDER_PATHS_H
#define RENDER_PATHS_H

#include "render/names.h"

enum paths_order {
	PATHS_ROOT_FIRST,
	PATHS_LEAF_FIRST,
};

struct path {
	size_t first, depth; /* `depth` name ids, at least 1, from paths.steps[first] */
	size_t section;      /* index of the section in the report */
	/* paths_measure(). Scaled if blocks were sampled; sums saturate at UINT64_MAX. */
	uint64_t size_bytes, count;
	/* Valid only for the rows of a difference (diff/diff.h). */
	uint64_t old_bytes, new_bytes;
};

struct paths {
	struct names names;
	VEC(uint32_t) steps;
	/* Distinct paths, in lexicographical order of their steps. A row of several
	 * processes becomes one path for each of their names. */
	VEC(struct path) list;
};

/* The size of a row that options.flame_of selects: bytes, or blocks for
 * REPORT_FLAME_COUNT; and the number of its blocks. */
struct report_measure {
	uint64_t size, count;
};
struct report_measure paths_measure(const struct report *report,
				    const struct report_row *row);

/* Has the report what options.flame_of wants? Otherwise paths_init() fails. */
struct error *paths_check(const struct report *report)
	__attribute__((warn_unused_result));

/*
 * Collect the rows of all sections that have any of what options.flame_of says. In either
 * order a path begins with its process if the snapshot has several, then with the note of
 * its class if there are several sections; an incomplete stack has a note at its
 * outermost end that says why. `ret` refers to the report. The caller calls
 * paths_deinit(), also after an error. Fails if out of memory, and as paths_check() does.
 */
struct error *paths_init(struct paths *ret, const struct report *report,
			 enum paths_order order) __attribute__((warn_unused_result));
void paths_deinit(struct paths *paths);

/* The name at `depth` of a path; 0 is the first step. */
const struct name *paths_name(const struct paths *paths, const struct path *path,
			      size_t depth);

/* The number of leading steps that both paths have in common. */
size_t paths_common(const struct paths *paths, const struct path *a,
		    const struct path *b);

#endif
