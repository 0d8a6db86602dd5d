/* SPDX-License-Identifier: Apache-2.0 */
/* The width of text on a terminal. */
#ifndef RENDER_TEXT_WIDTH_H
#define RENDER_TEXT_WIDTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/strbuf.h"

/* Columns of a page without a terminal, and the fewest of any page. */
#define TEXT_COLUMNS_DEFAULT 80
#define TEXT_COLUMNS_MIN     10

/*
 * The columns that `len` bytes of escaped text take (util/escape.h): characters of East
 * Asia and pictures take two. Without `utf8` each byte takes one. Rather too many than
 * too few: combining characters count too.
 */
size_t text_width(const char *text, size_t len, bool utf8);

/* Append `text` to `out`. If it is wider than `columns`, "..." replaces its middle. */
void text_append_within(struct strbuf *out, const char *text, size_t columns, bool utf8);

#endif
