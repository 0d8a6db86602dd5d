/* SPDX-License-Identifier: Apache-2.0 */
/* The course of a run in one line. Private to render/. */
#ifndef RENDER_TEXT_COURSE_H
#define RENDER_TEXT_COURSE_H

#include "render/text_page.h"

/* Two lines for the head of a report: how live heap bytes and VmRSS went on from the
 * first snapshot to this one. Nothing before there are three of them. */
void text_append_course(struct text_page *page);

#endif
