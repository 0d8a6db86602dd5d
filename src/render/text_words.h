/* SPDX-License-Identifier: Apache-2.0 */
/* Small pieces of the text report. Private to render/. */
#ifndef RENDER_TEXT_WORDS_H
#define RENDER_TEXT_WORDS_H

#include <stdint.h>

#include "util/units.h"

/* The word for `n` things. */
const char *text_plural(uint64_t n, const char *singular, const char *plural);

/* "+1.5 KiB", "-3 B", "no growth". */
struct units_text text_format_growth(int64_t bytes);

#endif
