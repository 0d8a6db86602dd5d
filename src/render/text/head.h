/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the text report that the brief report has, too. Private to render/. */
#ifndef RENDER_TEXT_HEAD_H
#define RENDER_TEXT_HEAD_H

#include "render/text/page.h"

/* Append "memtrace report 2 of process 12 (cat)". */
void text_append_subject(struct strbuf *text, const struct report *report);

/* Append lines "  label       text". Each function appends nothing if there is nothing
 * to say. */

/* Why the report was made. */
void text_append_cause(struct text_page *page);

/* For how long, how, and what memory the process has. */
void text_append_tracing(struct text_page *page);

/* What options have left out of the list. */
void text_append_left_out(struct text_page *page, const struct report_section *section);

/* Blocks freed by their process's exit or exec, and calls that failed. */
void text_append_failures(struct text_page *page, const struct report_section *section);

/* What a search found: blocks that nothing points to. */
void text_append_unreachable(struct text_page *page,
			     const struct report_section *section);

/* An empty line, a heading and a line for each kind of loss. */
void text_append_losses(struct text_page *page);

#endif
