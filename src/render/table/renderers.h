/* SPDX-License-Identifier: Apache-2.0 */
/* The table of renderers: a format is one file and one row. */
#ifndef RENDER_TABLE_RENDERERS_H
#define RENDER_TABLE_RENDERERS_H

#include "render/renderer.h"

/* The renderer with this name, or NULL. Static. */
const struct renderer *renderer_find(const char *name);

/* All renderers, terminated by NULL. Static. */
extern const struct renderer *const renderers[];

#endif
