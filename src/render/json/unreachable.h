/* SPDX-License-Identifier: Apache-2.0 */
/* What a search for unreachable blocks found. Private to render/. */
#ifndef RENDER_JSON_UNREACHABLE_H
#define RENDER_JSON_UNREACHABLE_H

#include "render/json/stream.h"
#include "report/report.h"

/* Write the member "unreachable" of a row; nothing if there was no search. */
void json_write_unreachable(struct json_stream *stream, const struct report_row *row);

/* Write the member "search" of the heap: how it was made, and its sums; likewise. */
void json_write_search(struct json_stream *stream, const struct snapshot *snap);

#endif
