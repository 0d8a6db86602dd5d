/* SPDX-License-Identifier: Apache-2.0 */
/* The sections of the summary, and helpers to write them. Private to render/. */
#ifndef RENDER_HTML_PARTS_H
#define RENDER_HTML_PARTS_H

#include "report/report.h"
#include "causes/verdict.h"
#include "util/strbuf.h"

/* Each appends a part of the page, or nothing if the report has no data for it. */
void html_append_target(struct strbuf *out, const struct snapshot *snap);
void html_append_header(struct strbuf *out, const struct report *report,
			const struct judgement *judgement);
void html_append_losses(struct strbuf *out, const struct report *report);
/* The timeline begins with the blocks of `class`. */
void html_append_timeline(struct strbuf *out, const struct report *report,
			  enum block_class class);
void html_append_causes(struct strbuf *out, const struct report *report,
			const struct judgement *judgement);
/* These are folded. */
void html_append_totals(struct strbuf *out, const struct report *report);
void html_append_stacks(struct strbuf *out, const struct report *report,
			const struct judgement *judgement);
void html_append_sizes(struct strbuf *out, const struct report *report);
void html_append_ages(struct strbuf *out, const struct report *report);
void html_append_processes(struct strbuf *out, const struct report *report);
void html_append_threads(struct strbuf *out, const struct report *report);

/* Begin and end a section that is folded on the screen and open in print. `id` and
 * `title` are not escaped. */
void html_begin_folded(struct strbuf *out, const char *id, const char *title);
void html_end_folded(struct strbuf *out);

/* Append text that the target controls, escaped. NULL appends nothing. */
void html_append_text(struct strbuf *out, const char *text);

/* Append text that is already escaped by util/escape.h, and free it. */
void html_move_text(struct strbuf *out, struct strbuf *text);

/*
 * Append a cell "<td class=n>" with a rounded number of bytes, and the exact number as a
 * tooltip. `head` is the heading of the column, which the cell shows itself on a small
 * screen.
 */
void html_append_bytes(struct strbuf *out, const char *head, uint64_t bytes);
/* The same with a sign; "0" for no growth. */
void html_append_growth(struct strbuf *out, const char *head, int64_t bytes);
void html_append_count(struct strbuf *out, const char *head, uint64_t count);
void html_append_number(struct strbuf *out, const char *head, const char *text);
/* Append a cell with a bar whose length is the share of `part` in `whole`: decoration for
 * a number. */
void html_append_bar(struct strbuf *out, uint64_t part, uint64_t whole);
/* Append the bar alone. */
void html_append_bar_picture(struct strbuf *out, uint64_t part, uint64_t whole);

/* Append a number with one decimal, independent of the locale. */
void html_append_tenths(struct strbuf *out, double value);

#endif
