/* SPDX-License-Identifier: Apache-2.0 */
/* Leak suspects, in words. Private to render/. */
#ifndef RENDER_TEXT_SUSPECTS_H
#define RENDER_TEXT_SUSPECTS_H

#include "render/text_page.h"

/* "grew in 11 of 12 intervals, 1.2 MiB/min, R^2 0.99; oldest block 3 m 00 s". With
 * `utf8` the 2 is raised. */
void text_append_why(struct strbuf *text, const struct report_suspect *suspect,
		     bool utf8);

/* "grew in 11 of 12 intervals, 1.2 MiB/min, R^2 0.99"; nothing without a trend. */
void text_append_trend(struct strbuf *text, const struct snapshot_trend *trend,
		       bool utf8);

/* The list with its heading; nothing without suspects. */
void text_append_suspects(struct text_page *page, const struct report_section *section);

#endif
