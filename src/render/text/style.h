/* SPDX-License-Identifier: Apache-2.0 */
/* Colours of a text report. */
#ifndef RENDER_TEXT_STYLE_H
#define RENDER_TEXT_STYLE_H

#include <stdbool.h>

#include "util/strbuf.h"

enum text_style {
	TEXT_PLAIN, /* reset */
	TEXT_TITLE,
	TEXT_HEADING,
	TEXT_NUMBER,
	TEXT_FUNCTION,
	TEXT_DIM,
	TEXT_WARNING,
};

/* Begin a style, if `color`. */
void text_append_style(struct strbuf *text, bool color, enum text_style style);

#endif
