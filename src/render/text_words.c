// SPDX-License-Identifier: Apache-2.0
#include "render/text_words.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "util/saturate.h"

const char *text_plural(uint64_t n, const char *singular, const char *plural)
{
	return n == 1 ? singular : plural;
}

struct units_text text_format_growth(int64_t bytes)
{
	struct units_text text = {.s = "no growth"};
	uint64_t size = bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes;

	if (bytes)
		snprintf(text.s, sizeof(text.s), "%c%.20s", bytes < 0 ? '-' : '+',
			 units_format_bytes(size).s);
	return text;
}

struct units_text text_format_share(uint64_t part, uint64_t whole)
{
	struct units_text text;
	double share = whole ? 1000.0 * (double)part / (double)whole : 0;
	uint64_t tenths = report_round(share);

	snprintf(text.s, sizeof(text.s), "%" PRIu64 ".%u %%", tenths / 10,
		 (unsigned)(tenths % 10));
	return text;
}

struct units_text text_format_slope(double bytes_per_s)
{
	static const struct {
		const char *name;
		double seconds;
	} spans[] = {{"s", 1}, {"min", 60}, {"h", 3600}, {"day", 86400}};
	const size_t count = sizeof(spans) / sizeof(*spans);
	struct units_text text;
	double rate = isfinite(bytes_per_s) ? fabs(bytes_per_s) : 0;
	/* Per minute, or per longer time below 1 KiB, or per second above about 1 GB. */
	size_t i = rate * 60 > 1e9 ? 0 : 1;

	while (i && i + 1 < count && rate * spans[i].seconds < 1024)
		i++;
	snprintf(text.s, sizeof(text.s), "%s%.20s/%s", bytes_per_s < 0 ? "-" : "",
		 units_format_bytes(report_round(rate * spans[i].seconds)).s,
		 spans[i].name);
	return text;
}

struct units_text text_format_ago(const struct report *report, uint64_t time_ns)
{
	return units_format_duration(
		saturate_subtract(report->snapshot->time_ns, time_ns));
}

struct units_text text_format_decimal(double number)
{
	struct units_text text;
	double size = isfinite(number) ? fabs(number) : 0;
	uint64_t millionths = report_round(size * 1e6);

	snprintf(text.s, sizeof(text.s), "%s%" PRIu64 ".%06" PRIu64,
		 number < 0 && millionths ? "-" : "", millionths / 1000000,
		 millionths % 1000000);
	return text;
}
