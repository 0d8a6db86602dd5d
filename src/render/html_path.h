/* SPDX-License-Identifier: Apache-2.0 */
/* A call path that can be expanded to its frames. Private to render/. */
#ifndef RENDER_HTML_PATH_H
#define RENDER_HTML_PATH_H

#include "report/report.h"
#include "util/strbuf.h"

/* Append a <details> element: its first functions, and inside it all frames, leaf
 * first. */
void html_append_path(struct strbuf *out, const struct report *report,
		      const struct report_row *row);

#endif
