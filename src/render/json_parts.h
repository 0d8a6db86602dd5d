/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values for the JSON report: what is measured beside blocks. Each function gives an
 * object or array that the caller owns, or JSON's null where there is nothing, or NULL
 * when memory is out. Private to render/.
 */
#ifndef RENDER_JSON_PARTS_H
#define RENDER_JSON_PARTS_H

#include <jansson.h>

#include "report/report.h"

json_t *json_traffic(const struct report *report, const struct snapshot_traffic *traffic);
json_t *json_flow(const struct report_flow *flow);
json_t *json_lifetimes(const struct snapshot_lifetimes *lifetimes);
json_t *json_trend(const struct snapshot_trend *trend);
/* The sizes of a row's blocks. */
json_t *json_sizes(const struct report_row *row);
/* Who allocated them. */
json_t *json_shares(const struct report_row *row);
/* The sizes of all blocks of a section. */
json_t *json_all_sizes(const struct report_section *section);
json_t *json_left_out(const struct report_left_out *left_out);
/* What a suspect is suspected for; its frames are for the caller. */
json_t *json_suspect(const struct report_suspect *suspect);
json_t *json_singles(const struct report *report, const struct report_section *section);
json_t *json_threads(const struct report *report);
json_t *json_moments(const struct report *report);

#endif
