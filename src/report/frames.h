/* SPDX-License-Identifier: Apache-2.0 */
/* Converts addresses to named frames, each once for a report. Private to report/. */
#ifndef REPORT_FRAMES_H
#define REPORT_FRAMES_H

#include "report/arena.h"
#include "report/lenders.h"
#include "report/report.h"
#include "util/vec.h"

struct process_frames;

/* The frames shown for one address: the functions inlined there, then the function
 * itself. */
struct frame_group {
	const struct report_frame *frames;
	uint32_t count;
	unsigned matches; /* set of enum filter_match */
};

struct frame_namer {
	const struct snapshot *snap;
	struct report_arena *arena;         /* borrowed; holds the frames */
	const struct report_filter *filter; /* borrowed; may be NULL */
	const struct report_known *known;   /* borrowed; may be NULL */
	/* Known frames of each process; the last element is for unknown processes. */
	struct process_frames *processes;
	struct lenders lenders;
	size_t frame_count;     /* number of frames created so far */
	struct frame_group gap; /* the frame shown in place of missing ones; count 0: not
				   created yet */
	VEC(struct frame_group) passing; /* scratch: groups of the stack being named */
};

/* NULL in `caches`: the frames of that process have no names. Of `options` only `filter`
 * and `known` are used. */
struct error *frame_namer_init(struct frame_namer *namer, const struct snapshot *snap,
			       struct frame_cache *const caches[],
			       const struct report_options *options,
			       struct report_arena *arena)
	__attribute__((warn_unused_result));
void frame_namer_deinit(struct frame_namer *namer);

/* Fill process, frames_of, allocator, frames, depth and end of a row from its stack. If
 * the stack or its frames are out of range, the row has none. */
struct error *frame_namer_fill(struct frame_namer *namer, struct report_row *row)
	__attribute__((warn_unused_result));

/* Call `visit` for each frame that has been named so far. */
void frame_namer_visit(const struct frame_namer *namer,
		       void (*visit)(void *data, const struct report_frame *frame),
		       void *data);

/* Which patterns of the filter do the frames of a stack match? *ret is a set of enum
 * filter_match over all frames; 0 without a stack or filter. */
struct error *frame_namer_match(struct frame_namer *namer, uint32_t stack, unsigned *ret)
	__attribute__((warn_unused_result));

#endif
