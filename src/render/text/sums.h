/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the text report with the sums of a section. Some are in the brief report, too.
 * Private to render/. */
#ifndef RENDER_TEXT_SUMS_H
#define RENDER_TEXT_SUMS_H

#include "render/text/page.h"

/* Append lines "  label       text". Each function appends nothing if there is nothing
 * to say. */

/* What is live, and how much of it is listed. */
void text_append_live(struct text_page *page, const struct report_section *section);

/* A line for each kind of kernel memory, scaled if blocks were sampled. */
void text_append_kernel(struct text_page *page, const struct report_section *section);

/* How much was live at once, and when. */
void text_append_peak(struct text_page *page, const struct report_section *section);

/* What options have left out of the list. */
void text_append_left_out(struct text_page *page, const struct report_section *section);

/* Allocations and frees, in all and per second. */
void text_append_traffic(struct text_page *page, const struct report_section *section);

/* Blocks freed by their process's exit or exec, and calls that failed. */
void text_append_failures(struct text_page *page, const struct report_section *section);

/* What a search found: blocks that nothing points to. */
void text_append_unreachable(struct text_page *page,
			     const struct report_section *section);

/* An empty line, a heading and a line for each kind of loss. */
void text_append_losses(struct text_page *page);

#endif
