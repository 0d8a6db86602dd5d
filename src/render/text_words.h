/* SPDX-License-Identifier: Apache-2.0 */
/* Small pieces of the text report. Private to render/. */
#ifndef RENDER_TEXT_WORDS_H
#define RENDER_TEXT_WORDS_H

#include <stdint.h>

#include "report/report.h"
#include "util/units.h"

/* The word for `n` things. */
const char *text_plural(uint64_t n, const char *singular, const char *plural);

/* "+1.5 KiB", "-3 B", "no growth". */
struct units_text text_format_growth(int64_t bytes);

/* "49.9 %" of `whole`, rounded. No locale has a say in the decimal point. */
struct units_text text_format_share(uint64_t part, uint64_t whole);

/* "1.2 MiB/min", "-3 B/h": bytes per second in the unit of time that shows them best. */
struct units_text text_format_slope(double bytes_per_s);

/* How long before the report a CLOCK_MONOTONIC time was. */
struct units_text text_format_ago(const struct report *report, uint64_t time_ns);

/* "-12.345678", in no locale; what is not a number is 0. */
struct units_text text_format_decimal(double number);

#endif
