// SPDX-License-Identifier: Apache-2.0
#include "render/suspect_words.h"

#include <inttypes.h>

#include "render/text_words.h"

void text_append_trend(struct strbuf *text, const struct snapshot_trend *trend, bool utf8)
{
	double fit = trend->determination;
	/* In hundredths, rounded down: only 1 is shown as 1. */
	unsigned hundredths = fit >= 1 ? 100 : fit > 0 ? (unsigned)(fit * 100) : 0;

	strbuf_appendf(text,
		       "grew in %" PRIu32 " of %" PRIu32 " intervals, %s, %s %u.%02u",
		       trend->grew, trend->intervals,
		       text_format_slope(trend->slope_bytes_per_s).s,
		       utf8 ? "R\u00b2" : "R^2", hundredths / 100, hundredths % 100);
}

void text_append_why(struct strbuf *text, const struct report *report,
		     const struct report_suspect *suspect, bool utf8)
{
	text_append_trend(text, suspect->row->trend, utf8);
	if (!report->options.combined_only)
		strbuf_appendf(text, "; oldest block %s",
			       units_format_duration(suspect->row->oldest_age_ns).s);
	if (report_row_lost_bytes(suspect->row))
		strbuf_appendf(text, "; %s lost for good",
			       units_format_bytes(report_row_lost_bytes(suspect->row)).s);
}
