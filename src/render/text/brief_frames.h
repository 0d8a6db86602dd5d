/* SPDX-License-Identifier: Apache-2.0 */
/* Frames and callers in the brief report. For render/ and screen/. */
#ifndef RENDER_TEXT_BRIEF_FRAMES_H
#define RENDER_TEXT_BRIEF_FRAMES_H

#include "render/text/brief_page.h"
#include "causes/causes.h"

/* Append the short name of a frame, escaped: "Store::put", "libblob.so+0x1234" or an
 * address. */
void brief_append_name(struct strbuf *text, const struct report_frame *frame);

/* Append where a frame is, escaped: "store.c:212", or without debug information the base
 * name of its module unless that is `executable`; "no symbol" for an address in a module;
 * else nothing. */
void brief_append_place(struct strbuf *text, const struct report_frame *frame,
			const char *executable);

/* Append "Store::put (store.c:212)", in at most `columns`: the name is cut, or the place
 * left out. */
void brief_append_frame(struct strbuf *text, const struct report_frame *frame,
			const char *executable, size_t columns, bool utf8);

/* The name of a cause, as above, or why it has none. */
void brief_append_cause(struct strbuf *text, const struct cause *cause, size_t columns,
			bool utf8);

/* Put the name of a cause: as above in the rest of the line, or with its full name or its
 * address if the options ask for these, in lines that are indented by `indent`. */
void brief_put_cause(struct brief_page *page, enum text_style style, size_t indent,
		     const struct cause *cause);

/*
 * Put lines with the callers of a cause, from the frame that names it outwards, at most
 * `most` lines. Frames of libraries in a row become "... 3 frames of libstdc++". Frames
 * that start the program or thread are left out. With `whole` each frame of the stack has
 * a line instead.
 */
void brief_put_callers(struct brief_page *page, const struct causes *causes,
		       const struct cause *cause, size_t indent, size_t most, bool whole);

/* Append the names of the callers in own code, separated by ", ", and "..." where there
 * are more than fit into `columns`. */
void brief_append_callers(struct strbuf *text, const struct causes *causes,
			  const struct cause *cause, size_t columns, bool utf8);

#endif
