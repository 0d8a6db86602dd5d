/* SPDX-License-Identifier: Apache-2.0 */
/* The views in the table of views.c. Private to render/. */
#ifndef RENDER_VIEWS_ALL_H
#define RENDER_VIEWS_ALL_H

#include "render/views/views.h"

#define VIEW(name, words) extern const struct view_ops view_##name;
#include "render/views/view_rows.h"
#undef VIEW

#endif
