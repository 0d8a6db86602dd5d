/* SPDX-License-Identifier: Apache-2.0 */
/* The lists of a JSON report that may be very long. Private to render/. */
#ifndef RENDER_JSON_ROWS_H
#define RENDER_JSON_ROWS_H

#include "render/frame_texts.h"
#include "render/json_stream.h"
#include "report/report.h"

/* A JSON report while it is made. */
struct json_page {
	const struct report *report;
	struct json_stream stream;
	struct frame_texts frames; /* an object each */
};

/* "stacks": the rows of a section. */
void json_write_rows(struct json_page *page, const struct report_section *section);
/* The same of an event. */
void json_write_event_rows(struct json_page *page, const struct report_section *section);

/* "suspects". */
void json_write_suspects(struct json_page *page, const struct report_section *section);

/* "largest": the largest single blocks. */
void json_write_singles(struct json_page *page, const struct report_section *section);

/* "live_sizes": of all blocks of the section. */
void json_write_live_sizes(struct json_page *page, const struct report_section *section);

/* True where a section has what is measured beside the blocks. */
bool json_has_traffic(const struct report *report, const struct report_section *section);

#endif
