/* SPDX-License-Identifier: Apache-2.0 */
/* Event counts in the text report. Private to render/. */
#ifndef RENDER_TEXT_EVENTS_H
#define RENDER_TEXT_EVENTS_H

#include "render/text/page.h"

/* Append the totals of the section and its stacks. */
void text_append_events(struct text_page *page, const struct report_section *section);

#endif
