/* SPDX-License-Identifier: Apache-2.0 */
/* From addresses to named frames, each made once for a report. Private to report/. */
#ifndef REPORT_FRAMES_H
#define REPORT_FRAMES_H

#include "report/arena.h"
#include "report/lenders.h"
#include "report/report.h"
#include "util/vec.h"

struct process_frames;

/* What is shown for one address: the functions inlined there, then the one itself. */
struct frame_group {
	const struct report_frame *frames;
	uint32_t count;
	unsigned matches; /* of the filter: a set of enum filter_match */
};

struct frame_namer {
	const struct snapshot *snap;
	struct frame_cache *const *caches;  /* by process */
	struct report_arena *arena;         /* borrowed; where the frames are made */
	const struct report_filter *filter; /* borrowed, or NULL */
	struct process_frames
		*processes; /* what is known of each, and last of those unknown */
	struct lenders lenders;
	size_t frame_count;     /* made so far */
	struct frame_group gap; /* stands for missing frames; none made yet: count 0 */
	VEC(struct frame_group) passing; /* of the stack that is being named */
};

/* NULL in `caches` stands for a process whose frames have no names. */
struct error *frame_namer_init(struct frame_namer *namer, const struct snapshot *snap,
			       struct frame_cache *const caches[],
			       const struct report_filter *filter,
			       struct report_arena *arena)
	__attribute__((warn_unused_result));
void frame_namer_deinit(struct frame_namer *namer);

/* Fill process, frames_of, allocator, frames, depth and end of a row from its stack. A
 * stack or frames out of range leave the row without them. */
struct error *frame_namer_fill(struct frame_namer *namer, struct report_row *row)
	__attribute__((warn_unused_result));

/* Which patterns of the filter the frames of a stack of the snapshot match, all together:
 * a set of enum filter_match. None without a stack or filter. */
struct error *frame_namer_match(struct frame_namer *namer, uint32_t stack, unsigned *ret)
	__attribute__((warn_unused_result));

#endif
