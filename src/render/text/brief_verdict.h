/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict of a report in words. For render/ and screen/. */
#ifndef RENDER_TEXT_BRIEF_VERDICT_H
#define RENDER_TEXT_BRIEF_VERDICT_H

#include "render/text/brief_page.h"
#include "causes/verdict.h"

/* Put the verdict on one line. What does not fit is left out, the least important part
 * first. */
void brief_put_verdict(struct brief_page *page, const struct verdict *verdict);

#endif
