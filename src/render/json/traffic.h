/* SPDX-License-Identifier: Apache-2.0 */
/* Traffic of call paths and threads, as JSON. */
#ifndef RENDER_JSON_TRAFFIC_H
#define RENDER_JSON_TRAFFIC_H

#include "render/json/stream.h"
#include "report/report.h"

/* Write "traffic" of a call path; null if nothing was counted or the row has no stack. */
void json_write_traffic(struct json_stream *stream, const struct snapshot *snap,
			const struct report_row *row);

/* Write "trend": how its bytes developed during the run; null if not known. */
void json_write_trend(struct json_stream *stream, const struct snapshot *snap,
		      enum block_class class, const struct report_row *row);

/* Write the sums over all call paths, including paths that hold nothing now: "traffic",
 * "peak", the "sizes" of all allocations, and "threads". */
void json_write_heap_traffic(struct json_stream *stream, const struct snapshot *snap);

#endif
