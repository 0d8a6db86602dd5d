/* SPDX-License-Identifier: Apache-2.0 */
/* Why a call path is a leak suspect, in words. For render/ and screen/. */
#ifndef RENDER_SUSPECT_WORDS_H
#define RENDER_SUSPECT_WORDS_H

#include "report/report.h"
#include "util/strbuf.h"

/* Append "grew in 11 of 12 intervals, 1.2 MiB/min, R^2 0.99; oldest block 3 m 00 s". The
 * age is omitted if ages are not known. With `utf8` the 2 is a superscript. */
void text_append_why(struct strbuf *text, const struct report *report,
		     const struct report_suspect *suspect, bool utf8);

/* Append "grew in 11 of 12 intervals, 1.2 MiB/min, R^2 0.99". */
void text_append_trend(struct strbuf *text, const struct snapshot_trend *trend,
		       bool utf8);

#endif
