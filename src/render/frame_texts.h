/* SPDX-License-Identifier: Apache-2.0 */
/* Caches the text of each frame of a report. Texts are created on first use, and stacks
 * share most of their frames. Private to render/. */
#ifndef RENDER_FRAME_TEXTS_H
#define RENDER_FRAME_TEXTS_H

#include "report/report.h"
#include "util/strbuf.h"

struct frame_text {
	char *text; /* NULL: not created yet */
	size_t len;
};

struct frame_texts {
	struct frame_text *list; /* indexed by report_frame.index */
	size_t count;
};

/* Prepare for frames with an index below `count`. Returns false if out of memory; then
 * no deinit is needed. */
bool frame_texts_init(struct frame_texts *ret, size_t count)
	__attribute__((warn_unused_result));
void frame_texts_deinit(struct frame_texts *texts);

/* Append a frame's text to `out`. On first use, `make` creates the text; if it fails,
 * `out` fails too. */
void frame_texts_append(struct frame_texts *texts, const struct report_frame *frame,
			void (*make)(const void *arg, const struct report_frame *frame,
				     struct strbuf *text),
			const void *arg, struct strbuf *out);

#endif
