/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values for the JSON report: what is told beside blocks. Each function gives an object
 * or array that the caller owns, or NULL when memory is out. Private to render/.
 */
#ifndef RENDER_JSON_PARTS_H
#define RENDER_JSON_PARTS_H

#include <stdio.h>

#include <jansson.h>

#include "report/report.h"

json_t *json_flow(const struct report_flow *flow);
/* The sizes of all live blocks of a section. */
json_t *json_live_sizes(const struct report_section *section);
json_t *json_left_out(const struct report_left_out *left_out);
/* What a suspect is suspected for; its frames are for the caller. */
json_t *json_suspect(const struct report *report, const struct report_section *section,
		     const struct report_suspect *suspect);
json_t *json_singles(const struct report *report, const struct report_section *section);
json_t *json_moments(const struct report *report);

/* Write a list of the sizes of a row's blocks, and one of who allocated them. */
void json_write_row_sizes(const struct report_row *row, FILE *out);
void json_write_shares(const struct report_row *row, FILE *out);

#endif
