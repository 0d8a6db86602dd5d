/* SPDX-License-Identifier: Apache-2.0 */
/* The timeline of a run in the text report. Private to render/. */
#ifndef RENDER_TEXT_COURSE_H
#define RENDER_TEXT_COURSE_H

#include "render/text_page.h"

/* Append to the head of a report how live heap bytes, live kernel bytes and VmRSS
 * developed from the first snapshot to this one: a line each, if it was ever above 0.
 * Appends nothing with fewer than three moments. */
void text_append_course(struct text_page *page);

#endif
