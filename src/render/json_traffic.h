/* SPDX-License-Identifier: Apache-2.0 */
/* What was counted by call path and thread, as JSON. */
#ifndef RENDER_JSON_TRAFFIC_H
#define RENDER_JSON_TRAFFIC_H

#include "render/json_stream.h"
#include "report/report.h"

/* "traffic" of one call path; null where nothing was counted, or the row has no stack. */
void json_write_traffic(struct json_stream *stream, const struct snapshot *snap,
			const struct report_row *row);

/* "trend": how its bytes went on during the run; null where that is not known. */
void json_write_trend(struct json_stream *stream, const struct snapshot *snap,
		      enum block_class class, const struct report_row *row);

/* Of all call paths together, those that hold nothing any more too: "traffic", "peak",
 * the "sizes" that were allocated, and "threads". */
void json_write_heap_traffic(struct json_stream *stream, const struct snapshot *snap);

#endif
