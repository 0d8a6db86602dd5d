/* SPDX-License-Identifier: Apache-2.0 */
/* The table of --view functions and --group-by in JSON. Private to render/. */
#ifndef RENDER_JSON_GROUPS_H
#define RENDER_JSON_GROUPS_H

#include "render/json/rows.h"

/* Write "groups" of a section, at most options.entries of them. Nothing if the report
 * shows no such table. */
void json_write_groups(struct json_page *page, const struct report_section *section);

#endif
