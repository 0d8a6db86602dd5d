// SPDX-License-Identifier: Apache-2.0
#include "render/brief_rate.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "report/report.h"

void brief_rate_init(struct brief_rate *ret, double largest_bytes_per_s)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
	static const struct {
		const char *name;
		double seconds;
	} spans[] = {{"s", 1}, {"min", 60}, {"h", 3600}, {"day", 86400}};
	double rate = isfinite(largest_bytes_per_s) ? fabs(largest_bytes_per_s) : 0;
	/* As text_format_slope(): per minute, per longer time below 1 KiB, per second
	 * above about 1 GB. */
	size_t span = rate * 60 > 1e9 ? 0 : 1, unit = 0;
	double amount, size = 1;

	while (span && span < 3 && rate * spans[span].seconds < 1024)
		span++;
	amount = rate * spans[span].seconds;
	while (unit < 5 && amount >= 1024 * size) {
		size *= 1024;
		unit++;
	}
	*ret = (struct brief_rate){size / spans[span].seconds, units[unit],
				   spans[span].name};
}

struct units_text brief_rate_format(const struct brief_rate *rate, double bytes_per_s)
{
	struct units_text text;
	double amount = isfinite(bytes_per_s) ? bytes_per_s / rate->unit_bytes_per_s : 0;
	uint64_t tenths = report_round(amount * 10);

	/* printf would take the decimal point from the locale. */
	if (!tenths && amount > 0)
		snprintf(text.s, sizeof(text.s), "<0.1 %s/%s", rate->bytes, rate->span);
	else
		snprintf(text.s, sizeof(text.s), "%" PRIu64 ".%u %s/%s", tenths / 10,
			 (unsigned)(tenths % 10), rate->bytes, rate->span);
	return text;
}
