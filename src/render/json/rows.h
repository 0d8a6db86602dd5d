/* SPDX-License-Identifier: Apache-2.0 */
/* The lists of a JSON report that may be long. Private to render/. */
#ifndef RENDER_JSON_ROWS_H
#define RENDER_JSON_ROWS_H

#include "render/frame_texts.h"
#include "render/json/stream.h"
#include "report/report.h"

/* A JSON report while it is being written. */
struct json_page {
	const struct report *report;
	struct json_stream stream;
	struct frame_texts frames; /* the JSON object of each frame */
};

/* Write "stacks": the rows of a section. */
void json_write_rows(struct json_page *page, const struct report_section *section);
/* Write "stacks" of an event section. */
void json_write_event_rows(struct json_page *page, const struct report_section *section);

/* Write "suspects". */
void json_write_suspects(struct json_page *page, const struct report_section *section);

/* Write "largest": the largest single blocks. */
void json_write_singles(struct json_page *page, const struct report_section *section);

/* Write "live_sizes": the sizes of all blocks of the section. */
void json_write_live_sizes(struct json_page *page, const struct report_section *section);

/* How many of `count` entries of a list are written. Without groups: all entries of the
 * report. With groups: at most options.entries; the report then has all rows, because
 * groups are sums of them. */
size_t json_shown(const struct report *report, size_t count);

#endif
