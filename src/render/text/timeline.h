/* SPDX-License-Identifier: Apache-2.0 */
/* The timeline of a run in the text report. Private to render/. */
#ifndef RENDER_TEXT_TIMELINE_H
#define RENDER_TEXT_TIMELINE_H

#include "render/text/page.h"

/* Append to the head of a report how live heap bytes, live kernel bytes and VmRSS
 * developed from the first snapshot to this one: a line each, if it was ever above 0.
 * Appends nothing with fewer than three moments. */
void text_append_timeline(struct text_page *page);

/* Append only the line of the heap, or of the kernel if the heap is not traced, with at
 * most `columns` columns for the curve. Appends nothing if the curve is flat. */
void text_append_curve(struct text_page *page, size_t columns);

#endif
