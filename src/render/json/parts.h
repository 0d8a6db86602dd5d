/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of the JSON report other than blocks. Each function returns an object or array
 * owned by the caller, or NULL if out of memory. Private to render/.
 */
#ifndef RENDER_JSON_PARTS_H
#define RENDER_JSON_PARTS_H

#include <jansson.h>

#include "report/report.h"

json_t *json_left_out(const struct report_left_out *left_out);
json_t *json_moments(const struct report *report);

#endif
