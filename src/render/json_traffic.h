/* SPDX-License-Identifier: Apache-2.0 */
/* What was counted by call path and thread, as JSON. Each gives a new value, the
 * caller's, or NULL when memory is out. */
#ifndef RENDER_JSON_TRAFFIC_H
#define RENDER_JSON_TRAFFIC_H

#include <jansson.h>

#include "report/report.h"

/* Of one call path; null where nothing was counted, or the row has no stack. */
json_t *json_traffic(const struct snapshot *snap, const struct report_row *row);

/* How its bytes went on during the run; null where that is not known. */
json_t *json_trend(const struct snapshot *snap, enum block_class class,
		   const struct report_row *row);

/* Of all heap blocks: the peak, and the sizes that were allocated. */
json_t *json_peak(const struct snapshot *snap);
json_t *json_sizes(const struct snapshot *snap);

json_t *json_threads(const struct snapshot *snap);

#endif
