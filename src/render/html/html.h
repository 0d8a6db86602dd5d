/* SPDX-License-Identifier: Apache-2.0 */
/* The summary: one HTML page with everything in a report. */
#ifndef RENDER_HTML_HTML_H
#define RENDER_HTML_HTML_H

#include <stdio.h>

#include "render/flame/flame.h"
#include "report/report.h"
#include "util/error.h"

/*
 * Write a self-contained page (HTML living standard, UTF-8): docs/formats.md, "Files".
 * Its Content Security Policy (level 3, in a meta element) identifies the flame graph's
 * script and the style sheet by their hashes, and forbids loading anything. Text that the
 * target controls is escaped (util/escape.h, then render/xml.h) and occurs only between
 * tags. Equal reports give equal pages. The caller flushes and checks `out`.
 */
struct error *html_render(const struct report *report,
			  const struct flame_options *options, FILE *out)
	__attribute__((warn_unused_result));

#endif
