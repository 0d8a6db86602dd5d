/* SPDX-License-Identifier: Apache-2.0 */
/* The sections of the summary, and helpers to write them. Private to render/. */
#ifndef RENDER_HTML_PARTS_H
#define RENDER_HTML_PARTS_H

#include "report/report.h"
#include "util/strbuf.h"

/* Each appends a <section>, or nothing if the report has no data for it. */
void html_append_totals(struct strbuf *out, const struct report *report);
void html_append_losses(struct strbuf *out, const struct report *report);
void html_append_course(struct strbuf *out, const struct report *report);
void html_append_suspects(struct strbuf *out, const struct report *report);
void html_append_stacks(struct strbuf *out, const struct report *report);
void html_append_sizes(struct strbuf *out, const struct report *report);
void html_append_ages(struct strbuf *out, const struct report *report);
void html_append_processes(struct strbuf *out, const struct report *report);
void html_append_threads(struct strbuf *out, const struct report *report);

/* Append text that the target controls, escaped. NULL appends nothing. */
void html_append_text(struct strbuf *out, const char *text);

/* Append a cell "<td class=n>" with a rounded number of bytes, and the exact number as a
 * tooltip. */
void html_append_bytes(struct strbuf *out, uint64_t bytes);
/* The same with a sign; "0" for no growth. */
void html_append_growth(struct strbuf *out, int64_t bytes);
void html_append_count(struct strbuf *out, uint64_t count);
/* Append a cell with a bar whose length is the share of `part` in `whole`: decoration for
 * a number. */
void html_append_bar(struct strbuf *out, uint64_t part, uint64_t whole);

/* Append the share of `value` in `whole`, as "12.3 %". */
void html_append_share(struct strbuf *out, uint64_t value, uint64_t whole);

/* Append a number with one decimal, independent of the locale. */
void html_append_tenths(struct strbuf *out, double value);

#endif
