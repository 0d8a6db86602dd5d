/* SPDX-License-Identifier: Apache-2.0 */
/* The first lines of the text report, which the brief report has, too. Private to
 * render/. */
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

#endif
