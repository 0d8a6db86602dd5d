/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a text report in the width of a terminal. Private to render/. */
#ifndef RENDER_TEXT_WRAP_H
#define RENDER_TEXT_WRAP_H

#include <stdio.h>

#include "report/report.h"
#include "util/strbuf.h"

/* Columns of the terminal that the report goes to; 0: it does not go to one. */
size_t text_columns(const struct report_options *options);

/* Are names and paths short in the text report? */
bool text_has_short_names(const struct report_options *options);
bool text_has_short_paths(const struct report_options *options);

/* Does the text report show the addresses of frames that have a name? */
bool text_has_addresses(const struct report_options *options);

/*
 * Append whole lines of `text` to `out`, wrapped at blanks so that none is wider than
 * `columns`, unless a single word is. A number stays with the word behind it. Further
 * lines are indented by four more columns than the first (and its " label "), at most by
 * half of the line. Tabs at the begin of a line become spaces, at most a quarter of it.
 * Escape sequences for colours have no width.
 */
void text_wrap(struct strbuf *out, const char *text, size_t len, size_t columns,
	       bool utf8);

/* Write text of a report, wrapped if it goes to a terminal, and clear it. False: memory
 * is out. */
bool text_write(const struct report_options *options, struct strbuf *text, FILE *out);

#endif
