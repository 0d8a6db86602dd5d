/* SPDX-License-Identifier: Apache-2.0 */
/* A call path that unfolds into its frames. Private to render/. */
#ifndef RENDER_HTML_PATH_H
#define RENDER_HTML_PATH_H

#include "report/report.h"
#include "util/strbuf.h"

/* Append a <details>: its first functions, and in it all frames, the leaf first. */
void html_append_path(struct strbuf *out, const struct report *report,
		      const struct report_row *row);

#endif
