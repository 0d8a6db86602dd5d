/* SPDX-License-Identifier: Apache-2.0 */
/* The text of each frame of a report, made when it is first wanted: stacks have most of
 * their frames in common. Private to render/. */
#ifndef RENDER_FRAME_TEXTS_H
#define RENDER_FRAME_TEXTS_H

#include "report/report.h"
#include "util/strbuf.h"

struct frame_text {
	char *text; /* NULL: not made yet */
	size_t len;
};

struct frame_texts {
	struct frame_text *list; /* by report_frame.index */
	size_t count;
};

/* Of frames with an index below `count`. False when memory is out; then there is nothing
 * to deinit. */
bool frame_texts_init(struct frame_texts *ret, size_t count)
	__attribute__((warn_unused_result));
void frame_texts_deinit(struct frame_texts *texts);

/* Append a frame's text to `out`. Where there is none yet, `make` appends it, and what
 * that fails for makes `out` fail too. */
void frame_texts_append(struct frame_texts *texts, const struct report_frame *frame,
			void (*make)(const void *arg, const struct report_frame *frame,
				     struct strbuf *text),
			const void *arg, struct strbuf *out);

#endif
