/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the summary, and what they are made of. Private to render/. */
#ifndef RENDER_HTML_PARTS_H
#define RENDER_HTML_PARTS_H

#include "report/report.h"
#include "util/strbuf.h"

/* Each appends a <section>, or nothing where the report has nothing for it. */
void html_append_totals(struct strbuf *out, const struct report *report);
void html_append_losses(struct strbuf *out, const struct report *report);
void html_append_course(struct strbuf *out, const struct report *report);
void html_append_suspects(struct strbuf *out, const struct report *report);
void html_append_stacks(struct strbuf *out, const struct report *report);
void html_append_sizes(struct strbuf *out, const struct report *report);
void html_append_ages(struct strbuf *out, const struct report *report);
void html_append_processes(struct strbuf *out, const struct report *report);
void html_append_threads(struct strbuf *out, const struct report *report);

/* Text of the target's choosing; NULL is nothing. */
void html_append_text(struct strbuf *out, const char *text);

/* "<td class=n>" with a number of bytes for people, and exactly when pointed at. */
void html_append_bytes(struct strbuf *out, uint64_t bytes);
/* The same with a sign, "0" for none. */
void html_append_growth(struct strbuf *out, int64_t bytes);
void html_append_count(struct strbuf *out, uint64_t count);
/* A cell with a bar as long as its share of the whole: decoration for a number. */
void html_append_bar(struct strbuf *out, uint64_t part, uint64_t whole);

/* `value` of `whole` as "12.3 %". */
void html_append_share(struct strbuf *out, uint64_t value, uint64_t whole);

/* A number with one digit behind a point, whatever the locale. */
void html_append_tenths(struct strbuf *out, double value);

#endif
