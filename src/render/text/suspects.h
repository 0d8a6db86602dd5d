/* SPDX-License-Identifier: Apache-2.0 */
/* Leak suspects in words. Private to render/. */
#ifndef RENDER_TEXT_SUSPECTS_H
#define RENDER_TEXT_SUSPECTS_H

#include "render/text/page.h"

/* Append the list and its heading; nothing without suspects. */
void text_append_suspects(struct text_page *page, const struct report_section *section);

#endif
