/* SPDX-License-Identifier: Apache-2.0 */
/* The list of stacks in the text report. Private to render/. */
#ifndef RENDER_TEXT_ROWS_H
#define RENDER_TEXT_ROWS_H

#include <stdio.h>

#include "report/report.h"
#include "util/strbuf.h"

/*
 * Append the stacks of `section` under the heading "[clock] Top N stacks...". What has
 * gathered in `text` is written to `out` now and then, as a list may be long.
 */
void text_append_rows(struct strbuf *text, const struct report *report,
		      const struct report_section *section, const char *clock, FILE *out);

#endif
