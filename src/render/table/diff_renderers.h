/* SPDX-License-Identifier: Apache-2.0 */
/* The table of renderers for differences. */
#ifndef RENDER_TABLE_DIFF_RENDERERS_H
#define RENDER_TABLE_DIFF_RENDERERS_H

#include "render/diff.h"

/* The renderer with this name, or NULL. Static. */
const struct diff_renderer *diff_renderer_find(const char *name);

#endif
