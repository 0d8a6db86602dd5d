/* SPDX-License-Identifier: Apache-2.0 */
/* Number formats and words of the text report. Private to render/. */
#ifndef RENDER_TEXT_WORDS_H
#define RENDER_TEXT_WORDS_H

#include <stdint.h>

#include "report/report.h"
#include "util/units.h"

/* The singular if `n` is 1, else the plural. */
const char *text_plural(uint64_t n, const char *singular, const char *plural);

/* "+1.5 KiB", "-3 B", "no growth". */
struct units_text text_format_growth(int64_t bytes);

/* The share of `part` in `whole`, as "49.9 %", rounded. Independent of the locale. */
struct units_text text_format_share(uint64_t part, uint64_t whole);

/* "1.2 MiB/min", "-3 B/h": a rate in the most readable unit of time. */
struct units_text text_format_slope(double bytes_per_s);

/* The time from `time_ns` (CLOCK_MONOTONIC) to the report. */
struct units_text text_format_ago(const struct report *report, uint64_t time_ns);

/* "-12.345678", independent of the locale; 0 for infinity and NaN. */
struct units_text text_format_decimal(double number);

#endif
