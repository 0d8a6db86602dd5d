/* SPDX-License-Identifier: Apache-2.0 */
/* Call paths and functions in the HTML page. Private to render/. */
#ifndef RENDER_HTML_PATH_H
#define RENDER_HTML_PATH_H

#include "causes/causes.h"
#include "report/report.h"
#include "util/strbuf.h"

/* Append <code> with the short name of a frame. `is_first`: it is the innermost one of
 * the user's own code. */
void html_append_function(struct strbuf *out, const struct report_frame *frame,
			  bool is_first);

/* Append " store.c:212", or where else a frame of the row is; or nothing. */
void html_append_place(struct strbuf *out, const struct report_row *row, size_t frame);

/* Append a list of all frames, leaf first, and notes. `causes` belong to the row's
 * section. With `whole_names` names have their arguments, and frames their offsets. */
void html_append_frames(struct strbuf *out, const struct report *report,
			const struct causes *causes, const struct report_row *row,
			bool whole_names);

/* Append a <details> element: a line with its first functions, and inside it the list of
 * all frames. */
void html_append_path(struct strbuf *out, const struct report *report,
		      const struct causes *causes, const struct report_row *row,
		      bool whole_names);

#endif
