/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a moment takes from an earlier one of the same run: the named frames of call paths
 * whose addresses and names are the same in both snapshots. Private to the moment.
 */
#ifndef SCREEN_MOMENT_KNOWN_H
#define SCREEN_MOMENT_KNOWN_H

#include "report/options.h"
#include "screen/moment.h"

struct known {
	struct report_known report; /* for report_options.known */
	struct report_known_stack *stacks;
};

/* Does every name that `before` has used have the same texts in `moment`, whose snapshot
 * was read? Compares all, in time linear in the names. */
bool known_is_valid(const struct moment *before, const struct moment *moment);

/* Collect the frames that `before` has of stacks that are the same in both. The caller
 * calls known_deinit(), also after false. False: memory is out. */
bool known_init(struct known *ret, const struct moment *before,
		const struct moment *moment) __attribute__((warn_unused_result));
void known_deinit(struct known *known);

/* The path of `base` that has the frames of this row, at the same addresses in memory;
 * NULL: none, or `base` is NULL. */
const struct moment_path *known_path(const struct moment *base, size_t section,
				     const struct report_row *row);

/* Was so much made anew that the next moments should have another base? `fresh_paths` of
 * `paths` call paths were. */
bool known_is_little(const struct known *known, const struct report *report,
		     size_t fresh_paths, size_t paths);

#endif
