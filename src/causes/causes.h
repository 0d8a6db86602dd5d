/* SPDX-License-Identifier: Apache-2.0 */
/* The call paths of a report grouped by cause: the function of the user that holds them.
 */
#ifndef CAUSES_CAUSES_H
#define CAUSES_CAUSES_H

#include "frames/own_code.h"
#include "report/report.h"

/* One call path of a cause. */
struct cause_part {
	const struct report_row *row;
	double slope_bytes_per_s; /* of a leak suspect; 0: it is none */
	size_t named_by; /* index of the row's frame that names the cause: its innermost
			    own function; the depth of the row if it has no frame */
};

/*
 * Call paths that go through the same functions of the user's own code (CODE_OWN) and
 * differ only in others, or in the lines of calls. Direct recursion counts once. Call
 * paths without own code are compared by the functions of libraries, then of runtimes,
 * then by all frames.
 */
struct cause {
	const struct cause_part *parts; /* leak suspects first, steepest first; then those
					   that hold most */
	size_t part_count;
	struct report_sum sum;          /* what all parts hold */
	int64_t estimated_growth_bytes; /* since the previous report */
	double slope_bytes_per_s;       /* sum over the parts; 0: no leak suspect */
	uint64_t oldest_age_ns;
	uint64_t lost_bytes; /* of blocks that nothing points to */
};

struct cause_book; /* causes/book.h */

struct causes {
	struct cause *list; /* leak suspects first: those with lost blocks, then the
			       steepest; then the causes that hold most */
	size_t count, suspect_count;
	/* By report_frame.index, of frames of the parts. */
	const struct code_origin *origins;
	struct cause_part *parts; /* the parts of all causes */
	struct cause_book *book;  /* for the next causes_find() */
};

/*
 * Group the rows and the suspects of a section of `report`. `ret` refers to the report.
 * The caller calls causes_deinit() on it, also after an error. Fails only if memory is
 * out. `known` (NULL: none) are the causes of the section of the same class of an earlier
 * report of the same run, whose frames this report has where nothing has changed
 * (report_options.known): with them it takes less time. `known` must outlive `ret`.
 */
struct error *causes_find(const struct report *report,
			  const struct report_section *section,
			  const struct causes *known, struct causes *ret)
	__attribute__((warn_unused_result));
void causes_deinit(struct causes *causes);

/* Whose code the frame is. */
static inline const struct code_origin *causes_origin(const struct causes *causes,
						      const struct report_frame *frame)
{
	return &causes->origins[frame->index];
}

#endif
