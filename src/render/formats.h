/* SPDX-License-Identifier: Apache-2.0 */
/* The renderers behind the table in renderer.c. Private to render/. */
#ifndef RENDER_FORMATS_H
#define RENDER_FORMATS_H

#include "render/renderer.h"

/* For people; the lines of stacks and frames are those of BCC's memleak, extended. */
extern const struct renderer text_renderer;

/* One JSON object (RFC 8259) on one line; README.md holds the schema. */
extern const struct renderer json_renderer;

#endif
